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
        let by_header = take_word(response.headers_mut());
        let said = response.extensions_mut().remove::<Self>();
        said.or_else(|| match by_header? {
            (Word::NothingHappened, why) => Some(Self::NothingHappened(why)),
            (Word::Unknown, why) => Some(Self::Unknown(why)),
            // The answer itself says what happened.
            (Word::Happened, _) => None,
        })
    }

    /// Takes the header off what comes from outside.
    pub(crate) fn forget(headers: &mut HeaderMap) {
        headers.remove(OUTCOME);
    }
}

/// What a service says in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    NothingHappened,
    Unknown,
    Happened,
}

impl Word {
    fn parse(text: &str) -> Option<Self> {
        [
            ("nothing-happened", Self::NothingHappened),
            ("unknown", Self::Unknown),
            ("happened", Self::Happened),
        ]
        .into_iter()
        .find_map(|(word, parsed)| text.eq_ignore_ascii_case(word).then_some(parsed))
    }
}

/// Takes the header off a response, and reads its word and the text after it, in any language. Several words that are not the
/// same prove nothing: it may have happened. `None` where no word is one of ours.
pub(crate) fn take_word(headers: &mut HeaderMap) -> Option<(Word, String)> {
    let said: Vec<String> = headers
        .get_all(OUTCOME)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    headers.remove(OUTCOME);
    let first = said.first()?;
    let why = match first.split_once(';').map(|(_, why)| why.trim()) {
        None | Some("") => "says the service".to_owned(),
        Some(why) => why.to_owned(),
    };
    let mut words = said
        .iter()
        .flat_map(|text| text.split(';').next().unwrap_or_default().split(','))
        .map(|word| Word::parse(word.trim()));
    let word = words.next()?;
    let others: Vec<_> = words.filter(|other| *other != word).collect();
    if others.is_empty() {
        return Some((word?, why));
    }
    // Where none of them is ours nothing was said.
    others.into_iter().chain([word]).flatten().next()?;
    let why = format!("the service says several things: {}", said.join(", "));
    Some((Word::Unknown, why))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

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
            (
                "Unknown; ng\u{e2}n h\u{e0}ng kh\u{f4}ng tr\u{1ea3} l\u{1edd}i",
                Some(Told::Unknown(
                    "ng\u{e2}n h\u{e0}ng kh\u{f4}ng tr\u{1ea3} l\u{1edd}i".to_owned(),
                )),
            ),
            (
                "nothing-happened, happened",
                Some(Told::Unknown(
                    "the service says several things: nothing-happened, happened".to_owned(),
                )),
            ),
            ("happened", None),
            ("perhaps", None),
            ("perhaps, or not", None),
        ];
        for (text, expected) in table {
            let mut response = Response::new(());
            response
                .headers_mut()
                .insert(OUTCOME, HeaderValue::from_bytes(text.as_bytes()).unwrap());
            assert_eq!(Told::take(&mut response), expected);
            assert!(response.headers().is_empty());
        }
    }
}
