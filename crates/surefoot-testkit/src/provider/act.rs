//! What a provider may do to a call.

use std::time::Duration;

/// What a call meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It takes effect and is answered with 200. The default.
    Apply,
    /// It takes effect and is answered so.
    ApplyAnswering(Answer),
    /// It takes no effect and is answered so.
    Refuse(Answer),
    /// It takes no effect and is never answered.
    Hang,
    /// It takes effect and is never answered.
    ApplyThenHang,
    /// It takes no effect; the connection is reset (TCP RST).
    Reset,
    /// It takes effect; the connection is reset before a byte of the answer is sent.
    ApplyThenReset,
    /// It takes effect; the connection is closed after half of the answer.
    ApplyThenCut,
    /// It takes effect at once and is answered this much later.
    AnswerLate(Duration),
    /// It takes effect this much later, also when the caller has gone by then, and is answered after that.
    ApplyLate(Duration),
}

/// An answer over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status; an impossible one is sent as 500.
    pub status: u16,
    /// The body, sent as `application/json`.
    pub body: String,
    /// The value of the header `Retry-After`.
    pub retry_after: Option<String>,
}

impl Answer {
    /// An answer without `Retry-After`.
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            body: body.into(),
            retry_after: None,
        }
    }

    /// The same with `Retry-After`, in whatever form.
    #[must_use]
    pub fn retry_after(self, value: impl Into<String>) -> Self {
        Self {
            retry_after: Some(value.into()),
            ..self
        }
    }
}
