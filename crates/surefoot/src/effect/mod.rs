//! How a handler carries out its effects: [`Cx::effect`](crate::Cx::effect) and [`Cx::step`](crate::Cx::step).
//!
//! What may be done is decided in [`surefoot_core::effect`]; here it is done, in this order and no other: decide, write
//! down, look at the node's own clock, call, decide, write down. Nothing is ever sent before its row is durable, nor when
//! the store's answer came too late, nor a second time without a witness.
//!
//! `steps` decides each step, for a pull worker too; `run` takes them for a handler, with `ask` and `record`. `book` is what
//! one attempt knows, as a `page` that it writes at a `desk`; `write` is how a write outlives a store that is away, `pace`
//! when a call may leave, `tell` who hears of it.
//!
//! - [`EffectDraft`] and [`EffectCall`]: the chain. [`Verify`], [`SameKey`], [`AtMostOnce`], [`Repeatable`]: what an
//!   unknown outcome means. Without one of them there is nothing to call:
//!
//! ```compile_fail,E0599
//! async fn refund(cx: surefoot::Cx) -> surefoot::Outcome<u32> {
//!     cx.effect("psp.refund").call(|_key| async { Ok(1) }).await
//! }
//! ```
//!
//! and a verification says how long after a call it can still take effect:
//!
//! ```compile_fail,E0277
//! async fn refund(cx: surefoot::Cx) -> surefoot::Outcome<u32> {
//!     let verify = surefoot::Verify::by(|_key| async { Ok(surefoot::Verdict::DidNotHappen) });
//!     cx.effect("psp.refund").recover(verify).call(|_key| async { Ok(1) }).await
//! }
//! ```

mod ask;
mod book;
mod chain;
mod desk;
mod pace;
mod page;
mod record;
mod recover;
mod run;
mod step;
mod steps;
mod tell;
mod write;

pub(crate) use book::Book;
pub use chain::{Applied, EffectCall, EffectDraft};
pub(crate) use pace::{LEAVE_WITHIN, checked, lease_until};
pub(crate) use page::present;
pub use recover::{AtMostOnce, Recover, Repeatable, SameKey, Verify, VerifyBy};
pub(crate) use step::step;
pub(crate) use steps::{
    After, CROWDED, ROUNDS_MAX, Todo, is_under_way, on_answer, to_person, todo,
};
pub(crate) use tell::{tell_changed, tell_disputed, tell_left_open, tell_verified};
