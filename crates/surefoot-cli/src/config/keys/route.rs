//! How requests are guarded: the keys that `[proxy]` and `[[proxy.route]]` share.

use surefoot_core::effect::VerifyPlan;
use surefoot_core::request::{BODY_BYTES_MAX, Clocks, Keep};
use surefoot_http::RoutePolicy;

use super::job::delays;
use super::pattern;
use super::shape::{Key, Shape};
use crate::config::route::ASKS_MAX;
use crate::config::section::LIST_MAX;

pub(super) fn keys() -> Vec<Key> {
    let mut keys = vec![
        Key::new(
            "need",
            Shape::Words(vec!["required", "optional", "off"]),
            "Whether a request without a key is refused, served unguarded, or keys are ignored.",
        )
        .or("optional"),
        Key::new(
            "keep",
            Shape::Words(Keep::ALL.map(Keep::as_str).to_vec()),
            "Which answers are kept: every one, 5xx too; all but those with `surefoot-outcome: nothing-happened`; not 408, 425, \
             429 and 5xx.",
        )
        .or(Keep::default().as_str()),
        Key::new(
            "headers",
            Shape::list(Shape::text(pattern::header_name()), 0..=LIST_MAX),
            "Headers that are kept and replayed besides those that say how to read the body, what was made and where it is. \
             Never `Set-Cookie` or a credential.",
        ),
    ];
    keys.extend(clocks());
    keys.extend(bodies());
    keys.push(Key::new(
        "verify",
        pattern::filled("^http://"),
        "Where to ask by `GET` what became of a request of unknown outcome: an http URL. Without it a person decides. \
         `${NAME}` is filled from the environment.",
    ));
    keys.extend(questions());
    keys
}

fn questions() -> Vec<Key> {
    let standard = VerifyPlan::default();
    vec![
        Key::new(
            "ask_every",
            Shape::list(Shape::time(), 1..=LIST_MAX),
            "How long to wait between questions about a request of unknown outcome, give or take a quarter; the last one \
             repeats.",
        )
        .or(delays(&standard.backoff)),
        Key::new(
            "asks_max",
            Shape::count(1..=ASKS_MAX),
            "How many questions are asked before a person decides.",
        )
        .or(standard.asks_max),
        Key::new(
            "give_up_after",
            Shape::time(),
            "How long they are asked; longer than `settles_within`, and no longer than `retention`.",
        )
        .or_time(standard.give_up_after),
    ]
}

fn clocks() -> Vec<Key> {
    let (standard, clocks) = (RoutePolicy::default(), Clocks::default());
    vec![
        Key::new(
            "lease",
            Shape::time(),
            "How long a run holds its key without a sign of life from its process. It is extended while the run goes on.",
        )
        .or_time(clocks.lease),
        Key::new(
            "run_max",
            Shape::time(),
            "How long a run may take in all. Then the outcome is unknown. Without it 5m, or `lease` or `upstream_timeout` if \
             that is longer.",
        ),
        Key::new(
            "settles_within",
            Shape::time_or_zero(),
            "How long after the lease what was sent can still take effect: an earlier \"it did not happen\" proves nothing.",
        )
        .or_time(clocks.settles_within),
        Key::new("retention", Shape::time(), "How long answers are kept and replayed.").or_time(clocks.retention),
        Key::new("tombstone", Shape::time(), "How long a key stays taken; at least `retention`.")
            .or_time(clocks.tombstone),
        Key::new(
            "wait",
            Shape::time_or_zero(),
            "How long a repetition waits for the run that is under way before it is told 409.",
        )
        .or_time(standard.wait),
    ]
}

fn bodies() -> Vec<Key> {
    let standard = RoutePolicy::default();
    let bytes = || Shape::Count(1..=u64::try_from(BODY_BYTES_MAX).unwrap_or(u64::MAX));
    vec![
        Key::new(
            "request_bytes_max",
            bytes(),
            "The largest body of a request with a key, in bytes.",
        )
        .or(standard.body_bytes_max),
        Key::new(
            "answer_bytes_max",
            bytes(),
            "The largest body of an answer that is kept, in bytes. A larger one passes and leaves a tombstone.",
        )
        .or(standard.request.body_bytes_max),
        Key::new(
            "body_timeout",
            Shape::time(),
            "How long the body of a request with a key may take to arrive.",
        )
        .or_time(standard.body_timeout),
        Key::new(
            "stream_after",
            Shape::time(),
            "How long the body of an answer may take before it counts as a stream, which passes and is not kept.",
        )
        .or_time(standard.stream_after),
    ]
}
