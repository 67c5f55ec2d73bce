//! A backoff as it stands in a text: one table, whose keys say which form it has. It reads and writes; whether the
//! values make sense is the core's decision.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::options::{BackoffOptions, CAP, Delays, Exponential, FACTOR, JitterOptions};
use crate::duration_text;

/// Every key of both forms.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Text {
    #[serde(
        with = "duration_text::optional",
        skip_serializing_if = "Option::is_none"
    )]
    base: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
    #[serde(
        with = "duration_text::optional",
        skip_serializing_if = "Option::is_none"
    )]
    cap: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delays: Option<Vec<duration_text::Text>>,
    jitter: JitterOptions,
}

impl TryFrom<Text> for BackoffOptions {
    type Error = &'static str;

    fn try_from(text: Text) -> Result<Self, Self::Error> {
        let Text {
            base,
            factor,
            cap,
            delays,
            jitter,
        } = text;
        match (base, delays) {
            (Some(base), None) => Ok(Self::Exponential(Exponential {
                base,
                factor: factor.unwrap_or(FACTOR),
                cap: cap.unwrap_or(CAP),
                jitter,
            })),
            (None, Some(delays)) if factor.is_none() && cap.is_none() => Ok(Self::List(Delays {
                delays: delays.into_iter().map(|text| text.0).collect(),
                jitter,
            })),
            (Some(_) | None, Some(_)) => Err(
                "backoff has delays and something of base, factor and cap; keep the one or the other",
            ),
            (None, None) => Err(
                "backoff has neither base nor delays; add the first wait, such as base = \"100ms\"",
            ),
        }
    }
}

impl From<BackoffOptions> for Text {
    fn from(backoff: BackoffOptions) -> Self {
        match backoff {
            BackoffOptions::Exponential(Exponential {
                base,
                factor,
                cap,
                jitter,
            }) => Self {
                base: Some(base),
                factor: Some(factor),
                cap: Some(cap),
                delays: None,
                jitter,
            },
            BackoffOptions::List(Delays { delays, jitter }) => Self {
                delays: Some(delays.into_iter().map(duration_text::Text).collect()),
                jitter,
                ..Self::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_survive_their_text_and_what_is_neither_says_what_to_do() {
        for text in [
            "base = \"1s\"\nfactor = 3.0\ncap = \"1m\"\njitter = \"equal\"\n",
            "delays = [\"1s\", \"2m\"]\njitter = \"full\"\n",
        ] {
            let read: BackoffOptions = toml::from_str(text).unwrap();
            assert_eq!(toml::to_string(&read).unwrap(), text);
        }
        let table = [
            ("", "neither base nor delays"),
            ("base = '1s'\ndelays = ['1s']", "keep the one or the other"),
            ("delays = ['1s']\ncap = '1s'", "keep the one or the other"),
            ("base = 3", "a duration in quotes"),
            ("base = '1s'\nbse = '1s'", "unknown field `bse`"),
        ];
        for (text, expected) in table {
            let refusal = toml::from_str::<BackoffOptions>(text).unwrap_err();
            assert!(refusal.to_string().contains(expected), "{refusal}");
        }
    }
}
