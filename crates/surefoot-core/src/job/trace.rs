//! Where a job came from, for its attempts to link to.

/// The caller's trace context in the W3C form, kept with the job so that its attempts link to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext(String);

impl TraceContext {
    /// A `traceparent` value of version 00: `00-<32 hex>-<16 hex>-<2 hex>`. Anything else is `None`: a broken
    /// header must not stop a job.
    #[must_use]
    pub fn parse(traceparent: &str) -> Option<Self> {
        let parts: Vec<&str> = traceparent.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        let hex = parts
            .iter()
            .all(|part| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        let well_formed = lengths == [2, 32, 16, 2] && hex && parts[0] == "00";
        let zero = |part: &str| part.bytes().all(|b| b == b'0');
        (well_formed && !zero(parts[1]) && !zero(parts[2])).then(|| Self(traceparent.to_owned()))
    }

    /// The `traceparent` value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
