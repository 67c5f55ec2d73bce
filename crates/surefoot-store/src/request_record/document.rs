//! The shape of the document. Its field names are on disk: one that is renamed or removed needs another [`FORMAT`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::effect_record::WitnessDocument;

/// The format that is written, and the only one that is read.
pub(super) const FORMAT: u32 = 1;

/// What every format begins with.
#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) format: u32,
}

/// What is known of a request. Times are microseconds since 1970, durations are microseconds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document<'a> {
    pub(super) format: u32,
    pub(super) clocks: Clocks,
    pub(super) epoch: i64,
    pub(super) settles_at: i64,
    pub(super) state: State<'a>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) disputes: Vec<Dispute<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Clocks {
    pub(super) lease: u64,
    pub(super) retention: u64,
    pub(super) tombstone: u64,
    pub(super) settles_within: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum State<'a> {
    Claimed {
        claim: Cow<'a, str>,
        holder: Cow<'a, str>,
        since: i64,
        lease_until: i64,
    },
    Finished {
        at: i64,
        kept: Kept<'a>,
        by: WitnessDocument<'a>,
    },
    Unknown {
        since: i64,
        ask_at: i64,
        asked: u32,
        error: Cow<'a, str>,
    },
    NeedsHuman {
        since: i64,
        error: Cow<'a, str>,
    },
    Released {
        at: i64,
        by: WitnessDocument<'a>,
        error: Cow<'a, str>,
    },
    Expired {
        at: i64,
        status: u16,
    },
}

/// The body of a response is not in it: it has a column of its own.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Kept<'a> {
    Response {
        status: u16,
        headers: Vec<(Cow<'a, str>, Value<'a>)>,
    },
    Tombstone {
        status: u16,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body_sha256: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body_bytes: Option<u64>,
        why: Cow<'a, str>,
    },
}

/// The value of a header: mostly text, and any bytes.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    Hex(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dispute<'a> {
    pub(super) at: i64,
    pub(super) by: WitnessDocument<'a>,
    pub(super) said: Cow<'a, str>,
}

/// The digests of single fields by name, in hexadecimal digits.
pub(super) type Fields<'a> = BTreeMap<Cow<'a, str>, String>;
