//! Names, keys, ids and epochs as types: a value of one of these has been checked at the border.
//! Nothing here is trusted again further in, and nothing here is made from a clock or a generator.

mod epoch;
mod name;
mod provider_key;
mod time_ordered;

pub use epoch::Epoch;
pub use name::{
    Actor, ConcurrencyKey, Consumer, DependencyName, EffectName, Key, Kind, MessageId, NameError,
    OrderKey, Queue, SinkName, Source, Tenant, Topic, Worker,
};
pub use provider_key::ProviderKey;
pub use time_ordered::{JobId, JobIdError};
pub(crate) use time_ordered::{time_ordered_id, uuid};
