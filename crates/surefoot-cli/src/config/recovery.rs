//! `recovery` of a kind: what may be done when nobody knows whether a call took effect. There is no default. What the
//! values mean together is core's decision.

use std::time::Duration;

use reqwest::Method;
use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::checklist::time_max;
use surefoot_core::effect::{EffectRecovery, EffectTerms, VerifyPlan};
use surefoot_core::policy::{JobPolicy, Recovery};
use toml::de::DeValue;

use super::duration::written;
use super::fault::Span;
use super::section::{Field, Section};

/// What stands for the provider key in the path of a question.
pub(crate) const KEY: &str = "{key}";
/// The most questions that may be asked for.
pub(super) const ASKS_MAX: u32 = 1000;
/// The methods of a question; none of them changes anything or carries a body.
pub(super) const METHODS: [&str; 2] = ["GET", "HEAD"];

const WORDS: &str = "\"same_key\" (the provider deduplicates by key), \"at_most_once\" (never send again) or \
                     \"repeatable\" (twice does no harm)";
const FORMS: &str = "{ verify = { path = \"/sent/{key}\", happened = [200], did_not_happen = [404] }, settles_within = \
                     \"60s\" } (ask the provider)";

/// What an unknown outcome of a configured call allows, with the question to the provider where there is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallRecovery {
    /// The provider deduplicates by key and keeps keys so long; `None` is for ever.
    SameKey { ttl: Option<Duration> },
    /// Never send again.
    AtMostOnce,
    /// Twice does no harm.
    Repeatable,
    /// Ask the provider first.
    Verify(Verification),
}

/// How to ask a provider what became of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verification {
    /// `GET` or `HEAD`.
    pub(crate) method: Method,
    /// The path, with [`KEY`] where the provider key goes.
    pub(crate) path: String,
    /// The statuses that say that it happened; the body is the result.
    pub(crate) happened: Vec<u16>,
    /// The statuses that say that the provider knows nothing of it.
    pub(crate) did_not_happen: Vec<u16>,
    /// How long after a call left it can still take effect.
    pub(crate) settles_within: Duration,
    /// How often and how long to ask.
    pub(crate) plan: VerifyPlan,
}

impl CallRecovery {
    /// The same in core's words.
    pub(crate) const fn effect(&self) -> EffectRecovery {
        match self {
            Self::SameKey { ttl } => EffectRecovery::SameKey { ttl: *ttl },
            Self::AtMostOnce => EffectRecovery::AtMostOnce,
            Self::Repeatable => EffectRecovery::Repeatable,
            Self::Verify(verification) => EffectRecovery::Verify {
                settles_within: verification.settles_within,
            },
        }
    }
}

/// Reads the recovery of a kind that calls a service.
pub(super) fn of_request(section: &Section<'_>) -> Field<CallRecovery> {
    let Some(value) = section.value("recovery") else {
        section.missing(
            "recovery",
            format!("say what an unknown outcome allows: {WORDS}, or {FORMS}; there is no default"),
        );
        return Field::Faulty;
    };
    match value.get_ref() {
        DeValue::String(word) => of_word(section, word, value.span()),
        DeValue::Table(_) => section
            .section("recovery")
            .and_then(|table| of_table(&table))
            .map_or(Field::Faulty, |recovery| {
                Field::Given(recovery, value.span())
            }),
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_) => {
            section.faults.note(
                value.span(),
                "recovery is neither a text nor a table",
                format!("give {WORDS}, or {FORMS}"),
            );
            Field::Faulty
        }
    }
}

/// Reads the recovery of a kind for pull workers, who verify by themselves; there need be none.
pub(super) fn of_workers(section: &Section<'_>) -> Field<Recovery> {
    section.text("recovery").check(section.faults, |word| {
        Recovery::parse(word).ok_or_else(|| format!("recovery {word:?} is unknown; give {WORDS}"))
    })
}

fn of_word(section: &Section<'_>, word: &str, span: Span) -> Field<CallRecovery> {
    let recovery = match Recovery::parse(word) {
        Some(Recovery::SameKey) => CallRecovery::SameKey { ttl: None },
        Some(Recovery::AtMostOnce) => CallRecovery::AtMostOnce,
        Some(Recovery::Repeatable) => CallRecovery::Repeatable,
        None => {
            let what = format!("recovery {word:?} is unknown");
            section
                .faults
                .note(span, what, format!("give {WORDS}, or {FORMS}"));
            return Field::Faulty;
        }
    };
    Field::Given(recovery, span)
}

fn of_table(table: &Section<'_>) -> Option<CallRecovery> {
    let same_key = table.section("same_key");
    let verify = table.section("verify");
    let recovery = match (same_key, verify) {
        (Some(same_key), None) => of_same_key(&same_key),
        (None, Some(verify)) => of_verify(table, &verify).map(CallRecovery::Verify),
        (Some(_), Some(_)) => {
            table.faults.note(
                table.header.clone(),
                format!("[{}] has same_key and verify", table.name),
                "keep one of them",
            );
            None
        }
        (None, None) => {
            if table.value("same_key").is_none() && table.value("verify").is_none() {
                table.missing(
                    "same_key and no verify",
                    format!("give {FORMS}, or a word: {WORDS}"),
                );
            }
            None
        }
    };
    table.finish();
    recovery
}

fn of_same_key(table: &Section<'_>) -> Option<CallRecovery> {
    let ttl = table.duration("ttl");
    if ttl == Field::Absent {
        table.missing(
            "ttl",
            "add how long the provider keeps a key, such as ttl = \"24h\"; recovery = \"same_key\" means for ever",
        );
    }
    table.finish();
    Some(CallRecovery::SameKey {
        ttl: Some(ttl.optional()??),
    })
}

fn of_verify(table: &Section<'_>, verify: &Section<'_>) -> Option<Verification> {
    let method = verify
        .text("method")
        .check(table.faults, method)
        .or(Method::GET);
    let path = verify.text("path").check(table.faults, path);
    let happened = verify.statuses("happened");
    let did_not_happen = verify.statuses("did_not_happen");
    if path == Field::Absent {
        verify.missing("path", "add for example path = \"/sent/{key}\"");
    }
    for (field, name, example) in [
        (&happened, "happened", "[200]"),
        (&did_not_happen, "did_not_happen", "[404]"),
    ] {
        if *field == Field::Absent {
            verify.missing(
                name,
                format!("add the statuses that say so, such as {name} = {example}"),
            );
        }
    }
    verify.finish();

    let settles_within = table.duration("settles_within");
    if settles_within == Field::Absent {
        table.missing(
            "settles_within",
            "add how long after it left a request can still take effect, such as settles_within = \"60s\": an earlier \
             \"did not happen\" proves nothing",
        );
    }
    let plan = plan(table);
    let (span, did_not_happen) = (did_not_happen.span(), did_not_happen.optional());
    let happened = happened.optional()??;
    let did_not_happen = did_not_happen??;
    if let Some(both) = happened
        .iter()
        .find(|status| did_not_happen.contains(status))
    {
        table.faults.note(
            span.unwrap_or_else(|| verify.header.clone()),
            format!("the status {both} says that it happened and that it did not"),
            "name it in one of the two lists",
        );
        return None;
    }
    Some(Verification {
        method: method?,
        path: path.optional()??,
        happened,
        did_not_happen,
        settles_within: settles_within.optional()??,
        plan: plan?,
    })
}

fn plan(table: &Section<'_>) -> Option<VerifyPlan> {
    let standard = VerifyPlan::default();
    let delays = table.durations("ask_every").optional();
    let asks_max = table.count("asks_max", 1..=ASKS_MAX).or(standard.asks_max);
    let give_up_after = table.duration("give_up_after").or(standard.give_up_after);
    let backoff = delays?.map_or(standard.backoff, |delays| Backoff::List {
        delays,
        jitter: Jitter::Fraction(0.25),
    });
    Some(VerifyPlan {
        backoff,
        asks_max: asks_max?,
        give_up_after: give_up_after?,
    })
}

fn method(text: &str) -> Result<Method, String> {
    match METHODS.iter().find(|method| **method == text) {
        Some(method) => {
            Method::from_bytes(method.as_bytes()).map_err(|refusal| refusal.to_string())
        }
        None => Err(format!(
            "method {text:?} is none for a question, which must change nothing; use one of: {}",
            METHODS.join(", ")
        )),
    }
}

fn path(text: &str) -> Result<String, String> {
    let path = super::job::path(&text.replace(KEY, "key"))?;
    if path == text {
        return Err(format!(
            "path {text:?} asks about no call in particular; put {KEY} where the provider key goes"
        ));
    }
    Ok(text.to_owned())
}

/// What contradicts itself between a recovery, the time of its call and the policy of its job. `call_max` is the longest
/// call.
pub(super) fn check(
    section: &Section<'_>,
    span: &Span,
    recovery: &CallRecovery,
    call_max: Duration,
    policy: &JobPolicy,
) -> Option<()> {
    let terms = EffectTerms {
        recovery: recovery.effect(),
        timeout: call_max,
    };
    let mut faults = terms.validate(policy.lease);
    match recovery {
        CallRecovery::Verify(verification) => {
            faults.extend(verification.plan.validate(verification.settles_within));
        }
        CallRecovery::SameKey { ttl: Some(ttl) } if time_max(policy) > *ttl => faults.push(format!(
            "the attempts of a job may go on for {} and the provider keeps keys for {}, so the last ones could not \
             be sent; lower attempts_max or the backoff, give a deadline, or ask the provider by verify",
            written(time_max(policy)),
            written(*ttl)
        )),
        CallRecovery::SameKey { .. }
        | CallRecovery::AtMostOnce
        | CallRecovery::Repeatable => {}
    }
    faults.iter().for_each(|fault| {
        section
            .faults
            .note_text(span.clone(), &format!("recovery: {fault}"))
    });
    faults.is_empty().then_some(())
}
