//! How requests of a route are guarded, as `[proxy]`, `[[proxy.route]]` or the command line say it. What none of them says
//! has a default; whether the values make sense together is decided in core and by the guard.

use std::time::Duration;

use http::Uri;
use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::effect::VerifyPlan;
use surefoot_core::request::{
    BODY_BYTES_MAX, Clocks, HeaderAllowList, Horizon, Keep, RequestPolicy,
};
use surefoot_http::{Need, RoutePolicy, VerifyByUrl};

use super::duration;
use super::environment::{self, Environment};
use super::fault::Span;
use super::section::{Field, Section};
use toml::Spanned;

/// The most questions that may be asked for.
pub(super) const ASKS_MAX: u32 = 1000;
/// How far a wait between questions is spread: a quarter to each side.
const SPREAD: f64 = 0.25;

/// What is said of a route; nothing is said of what is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RouteKeys {
    /// Whether it takes a key.
    pub(crate) need: Option<Need>,
    /// Which answers are kept.
    pub(crate) keep: Option<Keep>,
    /// Which headers are kept besides the usual ones.
    pub(crate) headers: Option<HeaderAllowList>,
    /// How long a run holds its key without a sign of life.
    pub(crate) lease: Option<Duration>,
    /// How long a run may take in all.
    pub(crate) run_max: Option<Duration>,
    /// How long after the lease what was sent can still take effect.
    pub(crate) settles_within: Option<Duration>,
    /// How long answers are kept.
    pub(crate) retention: Option<Duration>,
    /// How long a key stays taken.
    pub(crate) tombstone: Option<Duration>,
    /// How long a repetition waits for the run that is under way.
    pub(crate) wait: Option<Duration>,
    /// The largest body of a request with a key, in bytes.
    pub(crate) request_bytes_max: Option<usize>,
    /// The largest body of an answer that is kept, in bytes.
    pub(crate) answer_bytes_max: Option<usize>,
    /// How long the body of a request may take to arrive.
    pub(crate) body_timeout: Option<Duration>,
    /// How long the body of an answer may take before it counts as a stream.
    pub(crate) stream_after: Option<Duration>,
    /// Where to ask what became of a request.
    pub(crate) verify: Option<Uri>,
    /// How long to wait between questions.
    pub(crate) ask_every: Option<Vec<Duration>>,
    /// How many questions to ask.
    pub(crate) asks_max: Option<u32>,
    /// How long to ask.
    pub(crate) give_up_after: Option<Duration>,
}

/// The keys that a contradiction may be about, and by which words of it that is seen; the first one that stands in the
/// section is pointed at.
const PLACES: [(&str, &[&str]); 9] = [
    ("give_up_after", &["give_up_after"]),
    ("asks_max", &["asks_max"]),
    ("ask_every", &["delay"]),
    ("run_max", &["run_max", "a run may take"]),
    ("lease", &["lease"]),
    ("retention", &["kept for", "retention"]),
    ("tombstone", &["stays taken", "tombstone"]),
    ("settles_within", &["settles_within"]),
    ("body_timeout", &["body_timeout"]),
];

impl RouteKeys {
    /// What this says, and where it says nothing what `under` says.
    pub(crate) fn over(&self, under: &Self) -> Self {
        let one = self.clone();
        Self {
            need: one.need.or(under.need),
            keep: one.keep.or(under.keep),
            headers: one.headers.or_else(|| under.headers.clone()),
            lease: one.lease.or(under.lease),
            run_max: one.run_max.or(under.run_max),
            settles_within: one.settles_within.or(under.settles_within),
            retention: one.retention.or(under.retention),
            tombstone: one.tombstone.or(under.tombstone),
            wait: one.wait.or(under.wait),
            request_bytes_max: one.request_bytes_max.or(under.request_bytes_max),
            answer_bytes_max: one.answer_bytes_max.or(under.answer_bytes_max),
            body_timeout: one.body_timeout.or(under.body_timeout),
            stream_after: one.stream_after.or(under.stream_after),
            verify: one.verify.or_else(|| under.verify.clone()),
            ask_every: one.ask_every.or_else(|| under.ask_every.clone()),
            asks_max: one.asks_max.or(under.asks_max),
            give_up_after: one.give_up_after.or(under.give_up_after),
        }
    }

    /// The policy, before a service that may take `upstream_timeout` to begin its answer: what is not said is the
    /// guard's default, and a run may take as long as the lease and the service do.
    pub(crate) fn policy(&self, upstream_timeout: Duration) -> RoutePolicy {
        let standard = RoutePolicy::default();
        let clocks = Clocks::default();
        let lease = self.lease.unwrap_or(clocks.lease);
        let clocks = Clocks {
            lease,
            retention: self.retention.unwrap_or(clocks.retention),
            tombstone: self.tombstone.unwrap_or(clocks.tombstone),
            settles_within: self.settles_within.unwrap_or(clocks.settles_within),
        };
        let request = RequestPolicy {
            clocks,
            keep: self.keep.unwrap_or_default(),
            headers: self.headers.clone().unwrap_or_default(),
            body_bytes_max: self
                .answer_bytes_max
                .unwrap_or(standard.request.body_bytes_max),
        };
        let run_max = standard.run_max.max(lease).max(upstream_timeout);
        RoutePolicy {
            need: self.need.unwrap_or(standard.need),
            request,
            run_max: self.run_max.unwrap_or(run_max),
            wait: self.wait.unwrap_or(standard.wait),
            body_bytes_max: self.request_bytes_max.unwrap_or(standard.body_bytes_max),
            body_timeout: self.body_timeout.unwrap_or(standard.body_timeout),
            stream_after: self.stream_after.unwrap_or(standard.stream_after),
            store_away: standard.store_away,
            asks: self.asks(&clocks),
        }
    }

    /// The plan of questions, where anything of it is said. What is not said has the default, but that nobody is asked for longer
    /// than answers are kept.
    fn asks(&self, clocks: &Clocks) -> Option<VerifyPlan> {
        let standard = VerifyPlan::default();
        let is_said = self.ask_every.is_some() || self.asks_max.is_some();
        if !is_said && self.give_up_after.is_none() {
            return None;
        }
        let backoff = self.ask_every.clone().map(|delays| Backoff::List {
            delays,
            jitter: Jitter::Fraction(SPREAD),
        });
        let give_up_after = standard.give_up_after.min(clocks.retention);
        Some(VerifyPlan {
            backoff: backoff.unwrap_or(standard.backoff),
            asks_max: self.asks_max.unwrap_or(standard.asks_max),
            give_up_after: self.give_up_after.unwrap_or(give_up_after),
        })
    }

    /// Every contradiction, each with its remedy; empty when there is none.
    pub(crate) fn faults(&self, upstream_timeout: Duration, horizons: &[Horizon]) -> Vec<String> {
        let policy = self.policy(upstream_timeout);
        let mut faults = policy.validate(horizons);
        if policy.asks.is_none() {
            let settles_within = policy.request.clocks.settles_within;
            faults.extend(VerifyPlan::default().validate(settles_within));
        }
        if policy.run_max < upstream_timeout {
            faults.push(format!(
                "a run may take {} and the service {} to begin its answer; raise run_max or lower upstream_timeout",
                duration::written(policy.run_max),
                duration::written(upstream_timeout)
            ));
        }
        faults
    }

    /// How to ask what became of a request; `None` where nobody can be asked.
    pub(crate) fn verification(&self, upstream_timeout: Duration) -> Option<VerifyByUrl> {
        VerifyByUrl::new(self.verify.clone()?, self.policy(upstream_timeout).request)
    }
}

/// Reads the keys of a route; `None` when one is wrong. Whoever calls it finishes the section.
pub(super) fn read(section: &Section<'_>, environment: Environment<'_>) -> Option<RouteKeys> {
    let (need, keep, headers) = (need(section), keep(section), headers(section));
    let (lease, run_max) = (section.duration("lease"), section.duration("run_max"));
    let settles_within = duration_or_zero(section, "settles_within");
    let (retention, tombstone) = (section.duration("retention"), section.duration("tombstone"));
    let wait = duration_or_zero(section, "wait");
    let (request_bytes_max, answer_bytes_max) = (
        bytes(section, "request_bytes_max"),
        bytes(section, "answer_bytes_max"),
    );
    let (body_timeout, stream_after) = (
        section.duration("body_timeout"),
        section.duration("stream_after"),
    );
    let verify = section
        .text("verify")
        .check(section.faults, |text| verify_url(text, environment));
    let (ask_every, asks_max, give_up_after) = (
        section.durations("ask_every"),
        section.count("asks_max", 1..=ASKS_MAX),
        section.duration("give_up_after"),
    );
    Some(RouteKeys {
        need: need.optional()?,
        keep: keep.optional()?,
        headers: headers.optional()?,
        lease: lease.optional()?,
        run_max: run_max.optional()?,
        settles_within: settles_within.optional()?,
        retention: retention.optional()?,
        tombstone: tombstone.optional()?,
        wait: wait.optional()?,
        request_bytes_max: request_bytes_max.optional()?,
        answer_bytes_max: answer_bytes_max.optional()?,
        body_timeout: body_timeout.optional()?,
        stream_after: stream_after.optional()?,
        verify: verify.optional()?,
        ask_every: ask_every.optional()?,
        asks_max: asks_max.optional()?,
        give_up_after: give_up_after.optional()?,
    })
}

/// Whether a route says how to ask and there is nobody to ask, neither here nor in `[proxy]`; it is noted then.
pub(super) fn asks_nobody(section: &Section<'_>, keys: &RouteKeys) -> bool {
    let said = ["ask_every", "asks_max", "give_up_after"]
        .into_iter()
        .find_map(|key| Some((key, section.value(key)?)));
    let Some((key, value)) = said.filter(|_| keys.verify.is_none()) else {
        return false;
    };
    section.faults.note(
        value.span(),
        format!(
            "{key} says how to ask and there is nobody to ask, so a person would decide at once"
        ),
        "add verify = \"http://HOST:PORT/PATH\" here or to [proxy], or remove it",
    );
    true
}

/// Where a contradiction of a route is pointed at: the first key of the section that it is about, else the section.
pub(super) fn place(section: &Section<'_>, fault: &str) -> Span {
    let about = PLACES
        .iter()
        .filter(|(_, words)| words.iter().any(|word| fault.contains(word)));
    let found = about.filter_map(|(key, _)| section.value(key));
    found
        .map(Spanned::span)
        .next()
        .unwrap_or_else(|| section.header.clone())
}

fn need(section: &Section<'_>) -> Field<Need> {
    section
        .text("need")
        .check(section.faults, |word| match word {
            "required" => Ok(Need::Required),
            "optional" => Ok(Need::Optional),
            "off" => Ok(Need::Off),
            _ => Err(format!(
                "need {word:?} is unknown; give \"required\", \"optional\" or \"off\""
            )),
        })
}

fn keep(section: &Section<'_>) -> Field<Keep> {
    section.text("keep").check(section.faults, |word| {
        let words = || {
            Keep::ALL
                .map(|keep| format!("{:?}", keep.as_str()))
                .join(", ")
        };
        Keep::parse(word)
            .ok_or_else(|| format!("keep {word:?} is unknown; give one of {}", words()))
    })
}

fn headers(section: &Section<'_>) -> Field<HeaderAllowList> {
    section.texts("headers").check(section.faults, |names| {
        HeaderAllowList::default().with(names.iter().map(|(name, _)| *name))
    })
}

fn bytes(section: &Section<'_>, key: &'static str) -> Field<usize> {
    let max = u32::try_from(BODY_BYTES_MAX).unwrap_or(u32::MAX);
    section.count(key, 1..=max).check(section.faults, |bytes| {
        usize::try_from(bytes).map_err(|error| error.to_string())
    })
}

/// A duration that may be zero.
fn duration_or_zero(section: &Section<'_>, key: &'static str) -> Field<Duration> {
    section.text(key).check(section.faults, |text| {
        duration::parse(text).map_err(|refusal| format!("{key} {text:?} {refusal}"))
    })
}

/// An address that the proxy can ask. It may hold a secret, and is not repeated.
fn verify_url(text: &str, environment: Environment<'_>) -> Result<Uri, String> {
    let filled = environment::fill(text, environment).map_err(|refusal| refusal.to_string())?;
    let uri: Option<Uri> = filled.parse().ok();
    uri.filter(|uri| uri.scheme_str() == Some("http") && uri.authority().is_some())
        .ok_or_else(|| {
            "verify is no http:// address; write for example http://127.0.0.1:3000/outcome"
                .to_owned()
        })
}
