//! Cases that need an endpoint which takes long, fails or answers at length when it is asked to.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};

use super::Found;
use super::cases::fits;
use super::target::{Ask, Got, Target, new_key};

/// How long the first request has a start before it is repeated.
const START: Duration = Duration::from_millis(500);
/// The pause between two repetitions, and how many there are at most.
const PAUSE: Duration = Duration::from_millis(200);
const ASKS_MAX: u32 = 300;

fn ask(key: &str, body: &Map<String, Value>) -> Ask {
    Ask {
        body: Some(body.clone()),
        ..Ask::with_key(key)
    }
}

pub(super) async fn failing(target: &Target) -> reqwest::Result<Found> {
    let Some(body) = &target.failing_body else {
        return Ok(Found::Skipped("--failing-body is not given"));
    };
    let ask = ask(&new_key(), body);
    let (one, two) = (target.ask(&ask).await?, target.ask(&ask).await?);
    Ok(if one.status < 500 {
        Found::Fault(format!("--failing-body is answered {}", one.status))
    } else {
        fits(two.is_same(&one), || {
            format!(
                "answered {} and then {}, with another body: it ran again, or the first answer is lost",
                one.status, two.status
            )
        })
    })
}

/// Asks twice, the second time while the first is being run; both answers.
async fn twice(target: &Target, ask: &Ask) -> reqwest::Result<(Got, Got)> {
    let second = async {
        tokio::time::sleep(START).await;
        target.ask(ask).await
    };
    let (one, two) = tokio::join!(target.ask(ask), second);
    Ok((one?, two?))
}

pub(super) async fn running(target: &Target) -> reqwest::Result<Found> {
    let Some(body) = &target.slow_body else {
        return Ok(Found::Skipped("--slow-body is not given"));
    };
    let (one, two) = twice(target, &ask(&new_key(), body)).await?;
    Ok(match two.status {
        409 => fits(two.has_retry_after, || {
            "a 409 does not say when to come back (Retry-After)".to_owned()
        }),
        // A guard may let it wait.
        _ => fits(two.is_same(&one), || {
            format!(
                "answered {} while the first ran, which was answered {}: it ran twice, or nobody is told",
                two.status, one.status
            )
        }),
    })
}

/// Repeats it all the time until the first is answered, and a last time after that.
pub(super) async fn slow(target: &Target) -> reqwest::Result<Found> {
    let Some(body) = &target.slow_body else {
        return Ok(Found::Skipped("--slow-body is not given"));
    };
    let ask = ask(&new_key(), body);
    let first = tokio::spawn({
        let (target, ask) = (target.clone(), ask.clone());
        async move { target.ask(&ask).await }
    });
    let (mut runs, mut last) = (BTreeSet::new(), None);
    for _ in 0..ASKS_MAX {
        tokio::time::sleep(PAUSE).await;
        let over = first.is_finished();
        let got = target.ask(&ask).await?;
        let is_success = got.is_success();
        if is_success {
            runs.insert(got.body.clone());
        }
        last = Some(got.status);
        if over && is_success {
            break;
        }
    }
    if let Ok(Ok(got)) = first.await
        && got.is_success()
    {
        runs.insert(got.body);
    }
    Ok(fits(runs.len() == 1, || match runs.len() {
        0 => format!(
            "answered {} in the end: nobody gets its answer",
            last.unwrap_or_default()
        ),
        runs => format!("{runs} different answers: it ran {runs} times"),
    }))
}

/// Whatever a repetition is told, it is not told of another run.
pub(super) async fn large(target: &Target) -> reqwest::Result<Found> {
    let Some(body) = &target.large_body else {
        return Ok(Found::Skipped("--large-body is not given"));
    };
    let ask = ask(&new_key(), body);
    let one = target.ask(&ask).await?;
    let (two, three) = (target.ask(&ask).await?, target.ask(&ask).await?);
    let is_told = |got: &Got| got.is_same(&one) || matches!(got.status, 409 | 410 | 413 | 422);
    Ok(fits(
        one.is_success() && is_told(&two) && is_told(&three),
        || {
            format!(
                "answered {}, then {} and {}: it ran again",
                one.status, two.status, three.status
            )
        },
    ))
}
