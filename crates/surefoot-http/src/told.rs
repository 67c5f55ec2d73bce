//! What a handler says of what became of its work, besides its answer. Without a word the answer is taken for what it is.

use http::{HeaderMap, HeaderName, Response};

/// The header by which a service behind the proxy says one of these, with a text for people after a semicolon. It is taken
/// off before the answer goes on.
pub const OUTCOME: HeaderName = HeaderName::from_static("surefoot-outcome");

/// What a handler says of what became of its work: put it into the extensions of the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// `nothing-happened`: the same request may run, where the route's policy takes the handler's word for it.
    NothingHappened(String),
    /// The work was never begun, because it could not be handed on: the same request may run, whatever the route's policy.
    /// No header says this.
    NotBegun(String),
    /// `unknown`: it may have happened, and this answer does not say. The answer goes to the client and is not kept; a
    /// repetition is told that the outcome is unknown.
    Unknown(String),
}

impl Told {
    /// Takes what was said out of a response.
    pub(crate) fn take<B>(response: &mut Response<B>) -> Option<Self> {
        let by_header = response.headers_mut().remove(OUTCOME);
        let said = response.extensions_mut().remove::<Self>();
        said.or_else(|| Self::parse(by_header?.to_str().ok()?))
    }

    /// Takes the header off what comes from outside.
    pub(crate) fn forget(headers: &mut HeaderMap) {
        headers.remove(OUTCOME);
    }

    fn parse(text: &str) -> Option<Self> {
        let (word, why) = text.split_once(';').unwrap_or((text, ""));
        let why = match why.trim() {
            "" => "says the service".to_owned(),
            why => why.to_owned(),
        };
        match word.trim() {
            "nothing-happened" => Some(Self::NothingHappened(why)),
            "unknown" => Some(Self::Unknown(why)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_says_what_the_extension_says() {
        let table = [
            (
                "nothing-happened",
                Some(Told::NothingHappened("says the service".to_owned())),
            ),
            (
                "unknown; the bank timed out",
                Some(Told::Unknown("the bank timed out".to_owned())),
            ),
            ("perhaps", None),
        ];
        for (text, expected) in table {
            let mut response = Response::new(());
            response
                .headers_mut()
                .insert(OUTCOME, text.parse().unwrap());
            assert_eq!(Told::take(&mut response), expected);
            assert!(response.headers().is_empty());
        }
    }
}
