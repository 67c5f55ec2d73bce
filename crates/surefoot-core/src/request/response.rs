//! What is kept of an answer, so that every repetition gets it: the status, the headers that may travel, and the body byte
//! for byte. It never holds a cookie, a credential or a header that belongs to one connection.

/// An answer that is replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    /// From 200 to 599.
    pub status: u16,
    /// Name in lower case and value, in the order of the answer; a name may come more than once. Never `set-cookie`.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as it was sent: empty, text or binary.
    pub body: Vec<u8>,
}

/// What is kept of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All that a repetition needs.
    Response(StoredResponse),
    /// That there was one.
    Tombstone(Tombstone),
}

/// What is kept of an answer whose body is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Its status.
    pub status: u16,
    /// SHA-256 of its body, where all of it was seen.
    pub body_sha256: Option<[u8; 32]>,
    /// The size of its body in bytes, where that is known.
    pub body_bytes: Option<u64>,
    /// Why there is no more.
    pub why: NotKept,
}

/// Why an answer is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotKept {
    /// `body_too_large`: its body is larger than the route keeps.
    BodyTooLarge,
    /// `headers_too_large`: its headers are more, or larger, than a record holds.
    HeadersTooLarge,
    /// `streamed`: it has no end that could be waited for.
    Streamed,
    /// `known_from_elsewhere`: a witness knows that it happened, and not what was answered.
    KnownFromElsewhere,
}

impl NotKept {
    /// Every reason.
    pub const ALL: [Self; 4] = [
        Self::BodyTooLarge,
        Self::HeadersTooLarge,
        Self::Streamed,
        Self::KnownFromElsewhere,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BodyTooLarge => "body_too_large",
            Self::HeadersTooLarge => "headers_too_large",
            Self::Streamed => "streamed",
            Self::KnownFromElsewhere => "known_from_elsewhere",
        }
    }

    /// The reason with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == text)
    }
}

impl Kept {
    /// The status of the answer.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            Self::Response(response) => response.status,
            Self::Tombstone(tombstone) => tombstone.status,
        }
    }
}
