//! What is tried. Each case says what it looks for; the numbers are those of the requirements of the draft, in order.

use std::pin::Pin;
use std::time::Duration;

use tokio::task::JoinSet;

use super::Found;
use super::on_demand::{failing, large, running, slow};
use super::target::{Ask, Got, Target, new_key};

/// One thing that is tried.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What it follows from.
    pub(super) requirement: &'static str,
    pub(super) look: fn(&Target) -> Look<'_>,
}

type Look<'a> = Pin<Box<dyn Future<Output = reqwest::Result<Found>> + Send + 'a>>;

macro_rules! cases {
    ($($name:literal, $requirement:literal => $look:ident;)*) => {
        pub(super) const CASES: &[Case] = &[$(Case {
            name: $name,
            requirement: $requirement,
            look: |target| Box::pin($look(target)),
        }),*];
    };
}

cases! {
    "two keys are two runs", "2: a key for each intent" => two_keys;
    "a repetition gets the first answer", "9: retry after completion" => replay;
    "the quoted and the bare key are one", "1: a string in quotes" => forms;
    "the same JSON in another spelling is the same", "5: fingerprint" => spelling;
    "another body under the key is refused", "12: 422" => other_body;
    "another query under the key is refused", "12: 422, the URI is part of it" => other_query;
    "a missing key is refused", "11: 400" => missing;
    "an empty key is refused", "16: always validate" => empty;
    "two keys on one request are refused", "1: one item" => two_headers;
    "a key of 300 characters does not break it", "16: always validate" => long;
    "a key that is cut off is refused", "1, 16: always validate" => unclosed;
    "keys that differ in case are two keys", "2: a key for each intent" => other_case;
    "a safe method takes no notice of a key", "6: a key may be sent without knowing" => safe;
    "a refused request leaves the first answer as it was", "12, 14: corrected before it is sent again" => mismatch_keeps;
    "an answer of 5xx is replayed as it was", "9: success or error" => failing;
    "a repetition while it runs is told so", "10, 13: 409, and when to come back" => running;
    "a run that takes long is one run", "8: process normally" => slow;
    "an answer that is too large to be kept is no second run", "8: process normally" => large;
    "a storm under one key is one run", "10, 13: 409 while it runs" => storm;
    "a client that goes away leaves one run", "8: process normally" => disconnect;
    "a replay sets no cookie", "security: sessions" => cookie;
    "a refusal is a problem document", "11: problem+json or a link" => problem;
    "another tenant does not get the answer", "16: composite key" => tenants;
}

pub(super) fn fits(fits: bool, fault: impl FnOnce() -> String) -> Found {
    if fits {
        Found::Fits
    } else {
        Found::Fault(fault())
    }
}

/// The answer to a key that was never used, and the key.
async fn first(target: &Target) -> reqwest::Result<(String, Got)> {
    let key = new_key();
    let got = target.ask(&Ask::with_key(&key)).await?;
    Ok((key, got))
}

async fn two_keys(target: &Target) -> reqwest::Result<Found> {
    let ((_, one), (_, two)) = (first(target).await?, first(target).await?);
    if !one.is_success() || !two.is_success() {
        return Ok(Found::Fault(format!(
            "answered {} and {}; see --help for what is needed",
            one.status, two.status
        )));
    }
    Ok(fits(one.body != two.body, || {
        "both answers are the same: other keys share one run, or the endpoint says nothing new each time".to_owned()
    }))
}

async fn same_as_first(target: &Target, ask: impl FnOnce(String) -> Ask) -> reqwest::Result<Found> {
    let (key, one) = first(target).await?;
    let two = target.ask(&ask(key)).await?;
    Ok(fits(one.is_success() && two.is_same(&one), || {
        format!(
            "answered {} and then {}, with another body: it ran again, or was refused",
            one.status, two.status
        )
    }))
}

async fn replay(target: &Target) -> reqwest::Result<Found> {
    same_as_first(target, |key| Ask::with_key(&key)).await
}

async fn forms(target: &Target) -> reqwest::Result<Found> {
    same_as_first(target, |key| Ask::with_key(&format!("\"{key}\""))).await
}

async fn spelling(target: &Target) -> reqwest::Result<Found> {
    same_as_first(target, |key| Ask {
        spelled_otherwise: true,
        ..Ask::with_key(&key)
    })
    .await
}

/// The status of a request that has to be refused after the first one.
async fn refused(
    target: &Target,
    ask: impl FnOnce(String) -> Ask,
    expected: u16,
) -> reqwest::Result<Found> {
    let (key, _) = first(target).await?;
    let got = target.ask(&ask(key)).await?;
    Ok(fits(got.status == expected, || {
        format!("answered {} instead of {expected}", got.status)
    }))
}

async fn other_body(target: &Target) -> reqwest::Result<Found> {
    let other = |key: String| Ask {
        variant: Some(2),
        ..Ask::with_key(&key)
    };
    refused(target, other, 422).await
}

async fn other_query(target: &Target) -> reqwest::Result<Found> {
    let other = |key: String| Ask {
        query: Some("2"),
        ..Ask::with_key(&key)
    };
    refused(target, other, 422).await
}

async fn bad_request(target: &Target, keys: Vec<String>) -> reqwest::Result<Found> {
    let ask = Ask {
        keys,
        ..Ask::default()
    };
    let got = target.ask(&ask).await?;
    Ok(fits(got.status == 400, || {
        format!("answered {} instead of 400", got.status)
    }))
}

async fn missing(target: &Target) -> reqwest::Result<Found> {
    if target.key_optional {
        return Ok(Found::Skipped("--key-optional"));
    }
    bad_request(target, Vec::new()).await
}

async fn empty(target: &Target) -> reqwest::Result<Found> {
    bad_request(target, vec!["\"\"".to_owned()]).await
}

async fn unclosed(target: &Target) -> reqwest::Result<Found> {
    bad_request(target, vec![format!("\"{}", new_key())]).await
}

async fn other_case(target: &Target) -> reqwest::Result<Found> {
    let key = format!("a{}", new_key());
    let one = target.ask(&Ask::with_key(&key)).await?;
    let two = target.ask(&Ask::with_key(&key.to_uppercase())).await?;
    Ok(fits(
        one.is_success() && two.is_success() && one.body != two.body,
        || {
            format!(
                "answered {} and {}: one key was taken for another",
                one.status, two.status
            )
        },
    ))
}

async fn safe(target: &Target) -> reqwest::Result<Found> {
    let plain = Ask {
        is_safe: true,
        ..Ask::default()
    };
    let keyed = Ask {
        is_safe: true,
        ..Ask::with_key(&new_key())
    };
    let without = target.ask(&plain).await?;
    for _ in 0..2 {
        let with = target.ask(&keyed).await?;
        if with.status != without.status {
            return Ok(Found::Fault(format!(
                "GET is answered {} without a key and {} with one",
                without.status, with.status
            )));
        }
    }
    Ok(Found::Fits)
}

async fn mismatch_keeps(target: &Target) -> reqwest::Result<Found> {
    let (key, one) = first(target).await?;
    let other = Ask {
        variant: Some(2),
        ..Ask::with_key(&key)
    };
    let (refused, again) = (target.ask(&other).await?, target.ask(&other).await?);
    let last = target.ask(&Ask::with_key(&key)).await?;
    Ok(if refused.status != 422 || again.status != 422 {
        Found::Fault(format!(
            "another body is answered {} and then {}, and not 422 each time",
            refused.status, again.status
        ))
    } else {
        fits(one.is_success() && last.is_same(&one), || {
            format!("the first body is answered {} after that", last.status)
        })
    })
}

async fn two_headers(target: &Target) -> reqwest::Result<Found> {
    bad_request(target, vec![new_key(), new_key()]).await
}

async fn long(target: &Target) -> reqwest::Result<Found> {
    let key = format!("{}{}", new_key(), "k".repeat(260));
    let one = target.ask(&Ask::with_key(&key)).await?;
    if one.status == 400 {
        return Ok(Found::Fits);
    }
    let two = target.ask(&Ask::with_key(&key)).await?;
    Ok(fits(one.is_success() && two.is_same(&one), || {
        format!(
            "answered {} and then {}: refuse it with 400, or keep it whole",
            one.status, two.status
        )
    }))
}

async fn storm(target: &Target) -> reqwest::Result<Found> {
    let key = new_key();
    let mut all = JoinSet::new();
    for _ in 0..target.storm {
        let (target, ask) = (target.clone(), Ask::with_key(&key));
        all.spawn(async move { target.ask(&ask).await });
    }
    let mut runs: Vec<Vec<u8>> = Vec::new();
    let (mut others, mut bare_conflicts) = (Vec::new(), 0);
    while let Some(joined) = all.join_next().await {
        match joined {
            Ok(Ok(got)) if got.is_success() => {
                if !runs.contains(&got.body) {
                    runs.push(got.body);
                }
            }
            Ok(Ok(got)) if got.status == 409 => bare_conflicts += usize::from(!got.has_retry_after),
            Ok(Ok(got)) => others.push(got.status.to_string()),
            Ok(Err(error)) => return Err(error),
            Err(_) => others.push("none".to_owned()),
        }
    }
    Ok(match (runs.len(), others.as_slice()) {
        (1, []) if bare_conflicts == 0 => Found::Fits,
        (1, []) => Found::Fault(format!(
            "{bare_conflicts} conflicts do not say when to come back (Retry-After)"
        )),
        (1, others) => Found::Fault(format!("one run, and answers of {}", others.join(", "))),
        (runs, _) => Found::Fault(format!("{runs} different answers: it ran {runs} times")),
    })
}

/// How long a client waits that goes away.
const LEAVES_AFTER: Duration = Duration::from_millis(1);
/// How often an answer is asked for after that, and the pause before each.
const ASKS_MAX: u32 = 50;
const PAUSE: Duration = Duration::from_millis(200);

async fn disconnect(target: &Target) -> reqwest::Result<Found> {
    let key = new_key();
    let leaving = Ask {
        leaves_after: Some(LEAVES_AFTER),
        ..Ask::with_key(&key)
    };
    // It is to break off; one that was quicker does no harm.
    drop(target.ask(&leaving).await);
    let mut last = target.ask(&Ask::with_key(&key)).await?;
    for _ in 0..ASKS_MAX {
        if last.status != 409 {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        last = target.ask(&Ask::with_key(&key)).await?;
    }
    let again = target.ask(&Ask::with_key(&key)).await?;
    Ok(fits(last.is_success() && again.is_same(&last), || {
        format!(
            "answered {} and then {}: the key is stuck, or it ran again",
            last.status, again.status
        )
    }))
}

async fn cookie(target: &Target) -> reqwest::Result<Found> {
    let (key, _) = first(target).await?;
    let again = target.ask(&Ask::with_key(&key)).await?;
    Ok(fits(!again.has_cookie, || {
        "a repetition got Set-Cookie".to_owned()
    }))
}

async fn problem(target: &Target) -> reqwest::Result<Found> {
    let (key, _) = first(target).await?;
    let other = Ask {
        variant: Some(2),
        ..Ask::with_key(&key)
    };
    let got = target.ask(&other).await?;
    Ok(fits(
        got.content_type.starts_with("application/problem+json"),
        || {
            format!(
                "the content type of the {} is {:?}",
                got.status, got.content_type
            )
        },
    ))
}

async fn tenants(target: &Target) -> reqwest::Result<Found> {
    let Some(other) = &target.other_authorization else {
        return Ok(Found::Skipped("--other-authorization is not given"));
    };
    let (key, one) = first(target).await?;
    let ask = Ask {
        authorization: Some(other.clone()),
        ..Ask::with_key(&key)
    };
    let two = target.ask(&ask).await?;
    Ok(fits(
        two.is_success() && two.body != one.body,
        || match two.is_same(&one) {
            true => "another tenant got this one's answer".to_owned(),
            false => format!("another tenant was answered {}", two.status),
        },
    ))
}
