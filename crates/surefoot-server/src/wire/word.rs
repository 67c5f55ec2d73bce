//! The words of core's enums on the wire: the same words as everywhere, and the schema lists them from core's own
//! list, so that none can be forgotten.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use surefoot_core::effect::{EffectRecovery, EffectStateName};
use surefoot_core::job::{AttemptOutcome, DeadReason, StateName};
use surefoot_core::message::DeliveryStateName;
use surefoot_core::policy::Recovery;
use surefoot_core::port::{ActionVerb, DeliveryVerb};
use surefoot_core::request::{NotKept, RequestStateName};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

macro_rules! words {
    (@of $type:ty) => { <$type>::ALL.map(<$type>::as_str) };
    (@of $type:ty, $words:expr) => { $words };
    ($($(#[$doc:meta])* $word:ident($type:ty) as $name:literal $(of $words:expr)?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $word(pub(crate) $type);

        impl Serialize for $word {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.0.as_str())
            }
        }

        impl PartialSchema for $word {
            fn schema() -> RefOr<Schema> {
                let words = words!(@of $type $(, $words)?);
                ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
            }
        }

        impl ToSchema for $word {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
        }
    )*};
}

words! {
    /// A state.
    StateWord(StateName) as "State";
    /// How an attempt ended.
    OutcomeWord(AttemptOutcome) as "AttemptOutcome";
    /// Why a job is a dead letter.
    ReasonWord(DeadReason) as "DeadReason";
    /// What an unknown outcome of a job allows.
    RecoveryWord(Recovery) as "Recovery";
    /// What an unknown outcome of an effect means.
    EffectRecoveryWord(EffectRecovery) as "EffectRecoveryName" of EffectRecovery::WORDS;
    /// What a person did.
    VerbWord(ActionVerb) as "ActionVerb";
    /// What is known of an effect.
    EffectStateWord(EffectStateName) as "EffectState";
    /// What is known of a delivery.
    DeliveryStateWord(DeliveryStateName) as "DeliveryState";
    /// What a person ordered about a delivery.
    DeliveryVerbWord(DeliveryVerb) as "DeliveryVerb";
    /// What is known of a request.
    RequestStateWord(RequestStateName) as "RequestState";
    /// Why an answer is not kept.
    NotKeptWord(NotKept) as "NotKept";
}
