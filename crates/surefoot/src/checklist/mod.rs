//! What a program with handlers of its own answers before anything runs, as `surefoot check` asks it of a configuration.
//!
//! [`Checklist`] holds the answers: one [`Answers`] for each kind, the facts of each dependency. [`Checklist::review`] asks
//! core's checklist, starts nothing and needs no store; [`Reviewed`] prints every question with its answer, and what is
//! wrong. Given to the engine ([`EngineBuilder::checklist`](crate::EngineBuilder::checklist)) the same answers bind it: a
//! kind that is run by another policy does not start, and an effect that is not on the list, or means something else when
//! its outcome is unknown, is not sent. So what was reviewed is what runs.
//!
//! ```
//! use surefoot::checklist::{Answers, Checklist, EffectAnswers};
//! use surefoot::core::effect::EffectRecovery;
//! use surefoot::core::id::Kind;
//! use surefoot::JobPolicy;
//!
//! let answers = Answers {
//!     side_effect: Some("pays the customer back".to_owned()),
//!     effects: vec![EffectAnswers {
//!         name: "psp.refund".to_owned(),
//!         recovery: EffectRecovery::SameKey { ttl: None },
//!         verify: None,
//!         call: None,
//!     }],
//!     alert: Some("pages the payments team".to_owned()),
//!     waivers: Vec::new(),
//! };
//! let kind = Kind::new("refund").expect("a kind");
//! let list = Checklist::new().kind(kind, JobPolicy::default(), answers);
//! let reviewed = list.review();
//! assert!(reviewed.is_green(), "{reviewed}");
//! ```

mod answers;
mod list;
mod reviewed;

pub(crate) use answers::as_answered;
pub use answers::{Answers, EffectAnswers};
pub use list::Checklist;
pub use reviewed::{Reviewed, ReviewedDependency, ReviewedKind};
pub use surefoot_core::checklist::{
    Answer, CallFacts, DependencyFacts, Fault, FaultName, Question, Review, VerifyFacts, Waiver,
};
