//! Which language a person reads, by `Accept-Language` (RFC 9110, section 12.5.4). A header that cannot be read
//! never fails a request: it counts for nothing.

use axum::extract::FromRequestParts;
use axum::http::header::{ACCEPT_LANGUAGE, CONTENT_LANGUAGE, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use std::convert::Infallible;

/// A language that texts for people come in; an axum handler takes it as an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English, also for whoever names no language that we have.
    #[default]
    English,
    /// Vietnamese.
    Vietnamese,
}

/// How many ranges of one header are read.
const RANGES_MAX: usize = 64;

impl Language {
    const ALL: [Self; 2] = [Self::English, Self::Vietnamese];

    /// The BCP 47 tag.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Vietnamese => "vi",
        }
    }

    /// The headers of an answer that holds texts in this language.
    #[must_use]
    pub fn headers(self) -> [(HeaderName, HeaderValue); 2] {
        [
            (CONTENT_LANGUAGE, HeaderValue::from_static(self.tag())),
            (VARY, HeaderValue::from_static("accept-language")),
        ]
    }

    /// The language that an `Accept-Language` likes best; of two that it likes alike, the one it names first.
    #[must_use]
    pub fn choose(header: &str) -> Self {
        let ranges: Vec<Range<'_>> = header
            .split(',')
            .take(RANGES_MAX)
            .filter_map(Range::parse)
            .collect();
        let mut best: Option<(Self, Wish)> = None;
        for language in Self::ALL {
            let Some(wish) = wish(&ranges, language) else {
                continue;
            };
            if best.is_none_or(|(_, other)| wish.beats(other)) {
                best = Some((language, wish));
            }
        }
        best.map(|(language, _)| language).unwrap_or_default()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Language {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let values = parts
            .headers
            .get_all(ACCEPT_LANGUAGE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        Ok(Self::choose(&values.collect::<Vec<_>>().join(",")))
    }
}

/// One language range with its weight in thousandths.
struct Range<'a> {
    tag: &'a str,
    weight: u16,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let tag = parts.next().filter(|tag| !tag.is_empty())?;
        let weight = match parts.next() {
            None => 1000,
            Some(parameter) => weight(parameter)?,
        };
        Some(Self { tag, weight })
    }

    fn names(&self, language: Language) -> bool {
        let primary = self.tag.split('-').next().unwrap_or(self.tag);
        primary.eq_ignore_ascii_case(language.tag())
    }
}

/// `q=0` to `q=1` with at most three digits behind the point.
fn weight(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let (whole, part) = value.trim().split_once('.').unwrap_or((value.trim(), ""));
    if part.len() > 3 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let thousandths: u16 = format!("{part:0<3}").parse().ok()?;
    match (whole, thousandths) {
        ("0", thousandths) => Some(thousandths),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

/// How much a language is wished for, and where the wish stands.
#[derive(Clone, Copy)]
struct Wish {
    weight: u16,
    place: usize,
}

impl Wish {
    fn beats(self, other: Self) -> bool {
        self.weight > other.weight || (self.weight == other.weight && self.place < other.place)
    }
}

/// A range that names the language decides; else `*` does. Weight 0 excludes it.
fn wish(ranges: &[Range<'_>], language: Language) -> Option<Wish> {
    let among = |matches: &dyn Fn(&Range<'_>) -> bool| {
        let fitting = ranges
            .iter()
            .enumerate()
            .filter(|(_, range)| matches(range));
        fitting
            .map(|(place, range)| Wish {
                weight: range.weight,
                place,
            })
            .reduce(|best, next| if next.beats(best) { next } else { best })
    };
    among(&|range| range.names(language))
        .or_else(|| among(&|range| range.tag == "*"))
        .filter(|wish| wish.weight > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_liked_language_is_chosen() {
        use Language::{English, Vietnamese};
        let table = [
            ("", English),
            ("vi", Vietnamese),
            ("vi-VN", Vietnamese),
            ("VI", Vietnamese),
            ("vi-VN,vi;q=0.9,en-US;q=0.8,en;q=0.7", Vietnamese),
            ("en-US,en;q=0.9,vi;q=0.8", English),
            ("en;q=0.5, vi;q=0.7", Vietnamese),
            ("en;q=0.5,vi;q=0.501", Vietnamese),
            ("vi, en", Vietnamese),
            ("en, vi", English),
            ("fr, de;q=0.5", English),
            ("fr, vi;q=0.1", Vietnamese),
            ("*", English),
            ("en;q=0, *", Vietnamese),
            ("*;q=0.5, vi;q=0.1", English),
            ("vi;q=0", English),
            ("vi;q=0, en;q=0", English),
            ("vi;q=2, en;q=0.1", English),
            ("vi;q=0.1234, en;q=0.1", English),
            ("vi;q=, en", English),
            ("vi;level=1, en;q=0.1", English),
            (";;;,,,=;q", English),
            ("video", English),
        ];
        for (header, expected) in table {
            assert_eq!(Language::choose(header), expected, "{header}");
        }
    }
}
