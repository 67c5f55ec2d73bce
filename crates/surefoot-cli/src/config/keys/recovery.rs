//! `recovery` of a kind: a word, or one of two tables.

use surefoot_core::effect::VerifyPlan;
use surefoot_core::policy::Recovery;

use super::job::delays;
use super::pattern::PATH_CHARACTERS;
use super::shape::{Key, Shape, Table};
use crate::config::recovery::{ASKS_MAX, METHODS};
use crate::config::section::{LIST_MAX, STATUS_MAX, STATUS_MIN, STATUSES_MAX};

pub(super) fn key() -> Key {
    let shape = Shape::AnyOf(vec![
        Shape::Words(Recovery::ALL.map(Recovery::as_str).to_vec()),
        Shape::Table(same_key()),
        Shape::Table(verify()),
    ]);
    Key::new(
        "recovery",
        shape,
        "What may be done when nobody knows whether an attempt had its effect: after a time-out, a broken connection, a crash. \
         `\"same_key\"`: send it again under the same key, the service deduplicates for ever; `{ same_key = { ttl = .. } }`: \
         so long; `\"at_most_once\"`: never send it again, a person decides; `\"repeatable\"`: twice does no harm; \
         `{ verify = { .. }, settles_within = .. }`: ask the service first. Required with a `dependency`, there is no \
         default; kinds for pull workers take a word.",
    )
}

fn same_key() -> Table {
    let ttl = Key::new("ttl", Shape::time(), "How long the service keeps a key.");
    let what = "The service deduplicates by key, for some time. After it nothing is sent again and a person decides.";
    let inner = Table::new(what, vec![ttl.required()]);
    let key = Key::new("same_key", Shape::Table(inner), what);
    Table::new("Send it again under the same key.", vec![key.required()])
}

fn verify() -> Table {
    let standard = VerifyPlan::default();
    let question = Key::new(
        "verify",
        Shape::Table(question()),
        "How to ask the service.",
    );
    let settles_within = Key::new(
        "settles_within",
        Shape::time(),
        "How long after it left a request can still take effect; at least as long as a call may take. An earlier \"did not \
         happen\" proves nothing and is asked again.",
    );
    let keys = vec![
        question.required(),
        settles_within.required(),
        Key::new(
            "ask_every",
            Shape::list(Shape::time(), 1..=LIST_MAX),
            "How long to wait between questions, give or take a quarter; the last one repeats.",
        )
        .or(delays(&standard.backoff)),
        Key::new(
            "asks_max",
            Shape::count(1..=ASKS_MAX),
            "After so many questions a person decides.",
        )
        .or(standard.asks_max),
        Key::new(
            "give_up_after",
            Shape::time(),
            "After so long a person decides; longer than `settles_within`.",
        )
        .or_time(standard.give_up_after),
    ];
    Table::new("Ask the service before anything is sent again.", keys)
}

fn question() -> Table {
    let path = Key::new(
        "path",
        Shape::text(format!(
            "^/{PATH_CHARACTERS}*\\{{key\\}}{PATH_CHARACTERS}*$"
        )),
        "What to ask. `{key}`, which must be there, is replaced by the provider key, percent-encoded.",
    );
    let statuses = || {
        let status = Shape::count(u32::from(STATUS_MIN)..=u32::from(STATUS_MAX));
        Shape::list(status, 1..=STATUSES_MAX)
    };
    let happened = Key::new(
        "happened",
        statuses(),
        "The statuses that say that it happened. The body is the job's result.",
    );
    let did_not_happen = Key::new(
        "did_not_happen",
        statuses(),
        "The statuses that say that the service knows nothing of it; none that is in `happened`. Any other answer, or none, \
         says nothing: it is asked again.",
    );
    let keys = vec![
        Key::new(
            "method",
            Shape::Words(METHODS.to_vec()),
            "The method; it changes nothing.",
        )
        .or("GET"),
        path.required(),
        happened.required(),
        did_not_happen.required(),
    ];
    Table::new("How to ask the service.", keys)
}
