//! Every kind of problem that the API answers with: its name, its status, and what the reader can do. A kind's name
//! is part of the API; programs branch on it, never on the texts.

use axum::http::StatusCode;

/// What is the same for every problem of one kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProblemKind {
    /// Its name, the last part of its type URI.
    pub(crate) slug: &'static str,
    /// The HTTP status.
    pub(crate) status: StatusCode,
    /// What it is called.
    pub(crate) title: &'static str,
    /// What the reader can do.
    pub(crate) remedy: &'static str,
}

impl ProblemKind {
    /// The kind with this name.
    pub(crate) fn parse(slug: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|kind| kind.slug == slug)
    }

    /// The type URI, relative to the server's root.
    pub(crate) fn uri(&self) -> String {
        format!("/problems/{}", self.slug)
    }
}

/// Every kind, by status.
pub(crate) static ALL: [&ProblemKind; 28] = [
    &INVALID_JSON,
    &UNAUTHORIZED,
    &HOST_NOT_ALLOWED,
    &CROSS_ORIGIN,
    &UNKNOWN_ROUTE,
    &NOT_FOUND,
    &METHOD_NOT_ALLOWED,
    &REQUEST_TIMEOUT,
    &KEY_CONFLICT,
    &ID_CONFLICT,
    &STALE_EPOCH,
    &HELD_BY_A_NODE,
    &WRONG_STATE,
    &EFFECT_CHOICE_REQUIRED,
    &EFFECT_UNDER_WAY,
    &EFFECT_REFUSED,
    &EFFECT_CHANGED,
    &EFFECT_NOT_BEGUN,
    &TOO_EARLY,
    &BODY_TOO_LARGE,
    &UNSUPPORTED_MEDIA_TYPE,
    &INVALID_FIELD,
    &INVALID_QUERY,
    &STORE_REFUSED,
    &INTERNAL,
    &TOO_MANY_STREAMS,
    &NO_ANSWER_IN_TIME,
    &STORE_UNAVAILABLE,
];

pub(crate) static INVALID_JSON: ProblemKind = ProblemKind {
    slug: "invalid-json",
    status: StatusCode::BAD_REQUEST,
    title: "The body is not JSON",
    remedy: "Send one JSON object in UTF-8; the detail says where the fault lies.",
};

pub(crate) static UNAUTHORIZED: ProblemKind = ProblemKind {
    slug: "unauthorized",
    status: StatusCode::UNAUTHORIZED,
    title: "A valid token is needed",
    remedy: "Send the header `Authorization: Bearer TOKEN` with a token that the server knows.",
};

pub(crate) static HOST_NOT_ALLOWED: ProblemKind = ProblemKind {
    slug: "host-not-allowed",
    status: StatusCode::FORBIDDEN,
    title: "The Host is not one of this server's",
    remedy: "Without tokens only loopback names are served, so that no web page can reach this server under a \
             name of its own. Use 127.0.0.1 or localhost, allow the host, or configure a token.",
};

pub(crate) static CROSS_ORIGIN: ProblemKind = ProblemKind {
    slug: "cross-origin",
    status: StatusCode::FORBIDDEN,
    title: "A web page of another origin may not change anything here",
    remedy: "Call the API from a program, or from a page that this server delivers.",
};

pub(crate) static UNKNOWN_ROUTE: ProblemKind = ProblemKind {
    slug: "unknown-route",
    status: StatusCode::NOT_FOUND,
    title: "There is no such route",
    remedy: "/openapi.json lists every route.",
};

pub(crate) static NOT_FOUND: ProblemKind = ProblemKind {
    slug: "not-found",
    status: StatusCode::NOT_FOUND,
    title: "There is no such thing",
    remedy: "Check the id or the name, and the tenant where there are several. What has ended is forgotten when its time is over.",
};

pub(crate) static METHOD_NOT_ALLOWED: ProblemKind = ProblemKind {
    slug: "method-not-allowed",
    status: StatusCode::METHOD_NOT_ALLOWED,
    title: "The route does not take this method",
    remedy: "Use a method that the header Allow names.",
};

pub(crate) static REQUEST_TIMEOUT: ProblemKind = ProblemKind {
    slug: "request-timeout",
    status: StatusCode::REQUEST_TIMEOUT,
    title: "The body did not arrive in time",
    remedy: "Send it again. Nothing was written.",
};

pub(crate) static KEY_CONFLICT: ProblemKind = ProblemKind {
    slug: "key-conflict",
    status: StatusCode::CONFLICT,
    title: "The key belongs to another payload",
    remedy: "Read the job that the detail names. For another intent use another key. Nothing was written.",
};

pub(crate) static ID_CONFLICT: ProblemKind = ProblemKind {
    slug: "id-conflict",
    status: StatusCode::CONFLICT,
    title: "The id belongs to another message",
    remedy: "Read the message that has the id. For another event make another id. Nothing was written.",
};

pub(crate) static STALE_EPOCH: ProblemKind = ProblemKind {
    slug: "stale-epoch",
    status: StatusCode::CONFLICT,
    title: "The lease is not held any more",
    remedy: "Stop working on this job: it was given to another worker, settled or cancelled. Nothing was \
             written. Claim again for further work.",
};

pub(crate) static HELD_BY_A_NODE: ProblemKind = ProblemKind {
    slug: "held-by-a-node",
    status: StatusCode::CONFLICT,
    title: "A node of the engine runs this job",
    remedy: "Report only what this worker claimed by POST /v1/leases. A node reports its own attempts; to stop one, \
             cancel the job. Nothing was written.",
};

pub(crate) static WRONG_STATE: ProblemKind = ProblemKind {
    slug: "wrong-state",
    status: StatusCode::CONFLICT,
    title: "The state does not allow this",
    remedy: "Read the job, or the message, again: its state is another one than this needs. Nothing was written.",
};

pub(crate) static EFFECT_CHOICE_REQUIRED: ProblemKind = ProblemKind {
    slug: "effect-choice-required",
    status: StatusCode::CONFLICT,
    title: "Say whether it is the same effect or a new one",
    remedy: "The effect may have happened. Send \"effect\":\"same\" to use the same provider key, so that a \
             provider that deduplicates does nothing twice, or \"effect\":\"new\" when you know that it did \
             not happen or that it must happen again.",
};

pub(crate) static EFFECT_UNDER_WAY: ProblemKind = ProblemKind {
    slug: "effect-under-way",
    status: StatusCode::CONFLICT,
    title: "The effect was begun under this lease already",
    remedy: "Its answer is missing. Tell it by POST /v1/leases/{job}/effects/{place}/answer: `applied`, `rejected`, \
             `not_sent` when you are sure that nothing left, else `maybe_applied`. Then begin it again.",
};

pub(crate) static EFFECT_REFUSED: ProblemKind = ProblemKind {
    slug: "effect-refused",
    status: StatusCode::CONFLICT,
    title: "The effect must not be sent",
    remedy: "Report the attempt as failed with the detail as its error: the attempts are used up, the deadline has \
             passed, the job is to stop, or the declaration contradicts itself. Nothing was written.",
};

pub(crate) static EFFECT_CHANGED: ProblemKind = ProblemKind {
    slug: "effect-changed",
    status: StatusCode::CONFLICT,
    title: "The job was begun by other code",
    remedy: "Report the attempt as a permanent failure: at this place the job has another effect, which this worker \
             does not know. Let the older worker finish the job, or look at its effects and decide by hand.",
};

pub(crate) static EFFECT_NOT_BEGUN: ProblemKind = ProblemKind {
    slug: "effect-not-begun",
    status: StatusCode::CONFLICT,
    title: "The effect was not begun",
    remedy: "Begin it first by POST /v1/leases/{job}/effects, and send nothing before the answer says so.",
};

pub(crate) static TOO_EARLY: ProblemKind = ProblemKind {
    slug: "too-early",
    status: StatusCode::CONFLICT,
    title: "A call may still take effect",
    remedy: "Say it again after the time in Retry-After, when what may be on its way has landed. Nothing was written.",
};

pub(crate) static BODY_TOO_LARGE: ProblemKind = ProblemKind {
    slug: "body-too-large",
    status: StatusCode::PAYLOAD_TOO_LARGE,
    title: "The body is too large",
    remedy: "Keep large data elsewhere and send a reference to it. Nothing was written.",
};

pub(crate) static UNSUPPORTED_MEDIA_TYPE: ProblemKind = ProblemKind {
    slug: "unsupported-media-type",
    status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
    title: "The body must be JSON",
    remedy: "Send the header `Content-Type: application/json`.",
};

pub(crate) static INVALID_FIELD: ProblemKind = ProblemKind {
    slug: "invalid-field",
    status: StatusCode::UNPROCESSABLE_ENTITY,
    title: "A field of the body is not valid",
    remedy: "Correct the field that the detail names; /openapi.json lists them all. Nothing was written.",
};

pub(crate) static INVALID_QUERY: ProblemKind = ProblemKind {
    slug: "invalid-query",
    status: StatusCode::UNPROCESSABLE_ENTITY,
    title: "The query is not valid",
    remedy: "Correct the parameter that the detail names; /openapi.json lists them all.",
};

pub(crate) static STORE_REFUSED: ProblemKind = ProblemKind {
    slug: "store-refused",
    status: StatusCode::INTERNAL_SERVER_ERROR,
    title: "The database refused",
    remedy: "The operator finds the cause in the server's log: missing rights, a full disk, another schema.",
};

pub(crate) static INTERNAL: ProblemKind = ProblemKind {
    slug: "internal",
    status: StatusCode::INTERNAL_SERVER_ERROR,
    title: "A fault of this server",
    remedy: "Please report it with the time and what is in the server's log.",
};

pub(crate) static TOO_MANY_STREAMS: ProblemKind = ProblemKind {
    slug: "too-many-streams",
    status: StatusCode::SERVICE_UNAVAILABLE,
    title: "Too many event streams are open",
    remedy: "Try again later, or read GET /v1/jobs/{id} from time to time.",
};

pub(crate) static NO_ANSWER_IN_TIME: ProblemKind = ProblemKind {
    slug: "no-answer-in-time",
    status: StatusCode::SERVICE_UNAVAILABLE,
    title: "There was no answer in time",
    remedy: "It is not known whether anything was written. Send the same request again: with a key or an \
             epoch it takes effect once.",
};

pub(crate) static STORE_UNAVAILABLE: ProblemKind = ProblemKind {
    slug: "store-unavailable",
    status: StatusCode::SERVICE_UNAVAILABLE,
    title: "The database does not answer",
    remedy: "It is not known whether anything was written. Send the same request again: with a key or an \
             epoch it takes effect once.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_slug_and_a_status_of_its_own_meaning() {
        let table = [
            ("invalid-json", 400),
            ("unauthorized", 401),
            ("host-not-allowed", 403),
            ("cross-origin", 403),
            ("unknown-route", 404),
            ("not-found", 404),
            ("method-not-allowed", 405),
            ("request-timeout", 408),
            ("key-conflict", 409),
            ("id-conflict", 409),
            ("stale-epoch", 409),
            ("held-by-a-node", 409),
            ("wrong-state", 409),
            ("effect-choice-required", 409),
            ("effect-under-way", 409),
            ("effect-refused", 409),
            ("effect-changed", 409),
            ("effect-not-begun", 409),
            ("too-early", 409),
            ("body-too-large", 413),
            ("unsupported-media-type", 415),
            ("invalid-field", 422),
            ("invalid-query", 422),
            ("store-refused", 500),
            ("internal", 500),
            ("too-many-streams", 503),
            ("no-answer-in-time", 503),
            ("store-unavailable", 503),
        ];
        let kinds: Vec<(&str, u16)> = ALL
            .iter()
            .map(|kind| (kind.slug, kind.status.as_u16()))
            .collect();
        assert_eq!(kinds, table);
        for kind in ALL {
            assert_eq!(ProblemKind::parse(kind.slug), Some(kind));
        }
    }
}
