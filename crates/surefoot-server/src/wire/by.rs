//! Who did something by hand, and why.

use serde::Deserialize;
use surefoot_core::id::Actor;
use surefoot_core::port::By;
use utoipa::ToSchema;

use super::text::Text;
use crate::auth::Caller;
use crate::problem::Problem;

/// Who acts where neither a token nor the body says it.
const NOBODY: &str = "anonymous";

/// Who does it and why.
///
/// With tokens configured the actor on record is the token's name; an `actor` in the body stands before it, as in
/// `alice (token ops)`, for it is a claim and the token is proven. Without tokens it is the body's `actor`, or
/// `anonymous`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = By)]
pub(crate) struct ByBody {
    /// Who does it: 1 to 128 printable bytes.
    pub(crate) actor: Option<String>,
    /// Why, for whoever reads the record.
    pub(crate) reason: Option<Text>,
}

/// Whether something may be done without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MustReason {
    /// It cannot be undone or changes what somebody asked for: say why.
    Yes,
    /// The record may lack a reason.
    No,
}

impl ByBody {
    pub(crate) fn into_by(self, caller: &Caller, must_reason: MustReason) -> Result<By, Problem> {
        let actor = match (&caller.token, self.actor) {
            (None, None) => NOBODY.to_owned(),
            (None, Some(actor)) => actor,
            (Some(token), None) => token.clone(),
            (Some(token), Some(actor)) if actor == *token => actor,
            (Some(token), Some(actor)) => {
                Actor::new(actor.as_str()).map_err(|error| Problem::name("actor", &error))?;
                format!("{actor} (token {token})")
            }
        };
        let actor = Actor::new(actor).map_err(|error| Problem::name("actor", &error))?;
        let reason = self.reason.map(|Text(reason)| reason).unwrap_or_default();
        if must_reason == MustReason::Yes && reason.as_str().trim().is_empty() {
            return Err(Problem::field(
                "reason",
                "reason is missing; say why, it stays on record",
            ));
        }
        Ok(By { actor, reason })
    }
}

#[cfg(test)]
mod tests {
    use surefoot_core::text::ErrorText;

    use super::*;

    #[test]
    fn the_record_tells_a_proven_actor_from_a_claimed_one() {
        let table = [
            (None, None, "anonymous"),
            (None, Some("alice"), "alice"),
            (Some("ops"), None, "ops"),
            (Some("ops"), Some("ops"), "ops"),
            (Some("ops"), Some("alice"), "alice (token ops)"),
        ];
        for (token, actor, expected) in table {
            let caller = Caller {
                token: token.map(str::to_owned),
            };
            let body = ByBody {
                actor: actor.map(str::to_owned),
                reason: None,
            };
            assert_eq!(
                body.into_by(&caller, MustReason::No)
                    .unwrap()
                    .actor
                    .as_str(),
                expected
            );
        }
    }

    #[test]
    fn what_cannot_be_undone_needs_a_reason() {
        for (reason, accepted) in [
            (None, false),
            (Some(" \n"), false),
            (Some("paid by hand"), true),
        ] {
            let body = |reason: Option<&str>| ByBody {
                actor: None,
                reason: reason.map(|reason| Text(ErrorText::from(reason))),
            };
            assert_eq!(
                body(reason)
                    .into_by(&Caller::default(), MustReason::Yes)
                    .is_ok(),
                accepted,
                "{reason:?}"
            );
            assert!(
                body(reason)
                    .into_by(&Caller::default(), MustReason::No)
                    .is_ok()
            );
        }
    }
}
