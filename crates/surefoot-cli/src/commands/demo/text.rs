//! The words and pictures of the live view. It knows one look at an act and nothing of terminals but their colours.

use std::time::Duration;

use surefoot_demo::{Act, Live};

/// How many seconds of calls are drawn.
const SECONDS_SHOWN: usize = 48;
/// Colours, as terminals number them.
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
/// From nothing to much.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How an act is called before people.
pub(super) const fn title(act: Act) -> &'static str {
    match act {
        Act::Plain => "act one: without protection",
        Act::Guarded => "act two: with Surefoot",
    }
}

/// One look on a screen: `calls` are those of each second, and of the pages those that were good and all.
pub(super) fn screen(live: &Live, calls: &[u64], (good, views): (u64, u64)) -> String {
    let from = calls.len().saturating_sub(SECONDS_SHOWN);
    let now = calls.iter().rev().nth(1).or(calls.last()).copied();
    let checkout = match &live.breaker {
        _ if live.is_down => paint(RED, "killed, and started again"),
        Some(breaker) if breaker == "closed" => "breaker closed".to_owned(),
        Some(breaker) => paint(YELLOW, &format!("breaker {breaker}")),
        None => "no breaker".to_owned(),
    };
    [
        format!(
            "Black Friday, {}  {:>3} s",
            title(live.act),
            live.elapsed.as_secs()
        ),
        format!("  {}", live.phase.told()),
        String::new(),
        format!(
            "  provider calls/s  {:>4}  {}",
            now.unwrap_or(0),
            sparks(&calls[from..])
        ),
        format!(
            "  in all            {:>4}  for {} orders; asked {} times",
            live.calls, live.placed, live.asked
        ),
        format!("  checkout                {checkout}"),
        format!(
            "  queue             {:>4}  of them {} asked about; {} customers wait",
            live.queue, live.verifying, live.open
        ),
        format!(
            "  click to outcome        p50 {}  p99 {}",
            seconds(live.p50),
            seconds(live.p99)
        ),
        format!("  charged twice     {}", damage(live.charged_twice)),
        format!(
            "  product page            {} {}",
            paint(if good == views { GREEN } else { RED }, &gauge(good, views)),
            percent(good, views)
        ),
    ]
    .join("\n")
}

/// One look on one line.
pub(super) fn line(live: &Live) -> String {
    format!(
        "{:>3} s  {}; {}; calls {}, asked {}, orders {}, open {}, queue {}, {}, charged twice {}, pages {}",
        live.elapsed.as_secs(),
        title(live.act),
        live.phase.told(),
        live.calls,
        live.asked,
        live.placed,
        live.open,
        live.queue,
        checkout(live),
        live.charged_twice,
        percent(live.views_good, live.views),
    )
}

/// What is to say of the checkout in a line: that it is down, or what its breaker does.
fn checkout(live: &Live) -> String {
    match &live.breaker {
        _ if live.is_down => "checkout down".to_owned(),
        Some(breaker) => format!("breaker {breaker}"),
        None => "no breaker".to_owned(),
    }
}

fn damage(count: u64) -> String {
    let text = format!("{count:>4}");
    if count > 0 { paint(RED, &text) } else { text }
}

/// The text in a colour, unless the user wants none.
fn paint(colour: &str, text: &str) -> String {
    if std::env::var_os("NO_COLOR").is_some() {
        return text.to_owned();
    }
    format!("\u{1b}[{colour}m{text}\u{1b}[0m")
}

fn sparks(calls: &[u64]) -> String {
    let most = calls.iter().copied().max().unwrap_or(0).max(1);
    let spark = |calls: &u64| {
        let step = calls * (BARS.len() as u64 - 1) / most;
        BARS[usize::try_from(step).unwrap_or(0).min(BARS.len() - 1)]
    };
    calls.iter().map(spark).collect()
}

fn gauge(good: u64, all: u64) -> String {
    const CELLS: u64 = 20;
    let full = good * CELLS / all.max(1);
    (0..CELLS)
        .map(|cell| if cell < full { '█' } else { '░' })
        .collect()
}

fn percent(good: u64, all: u64) -> String {
    if all == 0 {
        return "-".to_owned();
    }
    // Down, so that only all is 100 %.
    let tenths = good * 1000 / all;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_is_a_hundred_percent() {
        assert_eq!(percent(9999, 10_000), "99.9 %");
        assert_eq!(percent(10_000, 10_000), "100.0 %");
        assert_eq!(percent(0, 0), "-");
        assert_eq!(sparks(&[0, 5, 10]), "▁▄█");
        assert_eq!(gauge(1, 2).chars().filter(|cell| *cell == '█').count(), 10);
    }
}
