//! The live view: a few lines that are drawn again and again where a person looks, else a line now and then on standard
//! error.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use surefoot_demo::Live;

use super::text;
use crate::output::Output;

/// How long a line on standard error stands for.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// The most looks that are kept of an act: some minutes.
const LOOKS_MAX: usize = 4096;
/// How far back the health of the pages looks.
const HEALTH_OF: Duration = Duration::from_secs(3);
/// Shows an act while it is on.
pub(super) struct View {
    screen: Screen,
    history: Mutex<Vec<Live>>,
}

enum Screen {
    /// Drawn again in place.
    Drawn(ProgressBar),
    /// A line now and then.
    Lines,
    /// For programs, which read errors there.
    Nothing,
}

impl View {
    pub(super) fn open(output: Output) -> Self {
        let screen = if output.is_json() {
            Screen::Nothing
        } else if std::io::stdout().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            Screen::Drawn(bar)
        } else {
            Screen::Lines
        };
        Self {
            screen,
            history: Mutex::default(),
        }
    }

    /// Shows one look.
    pub(super) fn show(&self, live: &Live) {
        let mut history = self.looks();
        match &self.screen {
            Screen::Drawn(bar) => {
                let calls = calls_by_second(&history, live);
                bar.set_message(text::screen(live, &calls, health(&history, live)));
                bar.tick();
            }
            Screen::Lines => {
                if is_due(&history, live) {
                    // Nobody is left to be told when standard error is closed.
                    let _ = writeln!(std::io::stderr(), "{}", text::line(live));
                }
            }
            Screen::Nothing => {}
        }
        if history.len() < LOOKS_MAX {
            history.push(live.clone());
        }
    }

    /// Takes the view away.
    pub(super) fn close(&self) {
        match &self.screen {
            Screen::Drawn(bar) => bar.finish_and_clear(),
            Screen::Lines | Screen::Nothing => {}
        }
    }

    /// All looks at both acts.
    pub(super) fn history(&self) -> Vec<Live> {
        self.looks().clone()
    }

    fn looks(&self) -> MutexGuard<'_, Vec<Live>> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls of the provider in each second of the act so far.
pub(super) fn calls_by_second(history: &[Live], last: &Live) -> Vec<u64> {
    let looks = history.iter().filter(|look| look.act == last.act);
    let mut totals: Vec<u64> = Vec::new();
    for look in looks.chain([last]) {
        let second = usize::try_from(look.elapsed.as_secs()).unwrap_or(0);
        let before = totals.last().copied().unwrap_or(0);
        totals.resize(
            second.min(LOOKS_MAX).max(totals.len().saturating_sub(1)) + 1,
            before,
        );
        if let Some(total) = totals.last_mut() {
            *total = look.calls;
        }
    }
    let before = [0].into_iter().chain(totals.iter().copied());
    totals
        .iter()
        .zip(before)
        .map(|(total, before)| total.saturating_sub(before))
        .collect()
}

fn is_due(history: &[Live], live: &Live) -> bool {
    let Some(last) = history.last() else {
        return true;
    };
    let span = |look: &Live| look.elapsed.as_secs() / LINE_EVERY.as_secs();
    last.act != live.act
        || last.phase != live.phase
        || last.is_down != live.is_down
        || last.breaker != live.breaker
        || span(last) != span(live)
}

/// Views of pages that ended in the last seconds: those that showed a page in time, and all.
fn health(history: &[Live], live: &Live) -> (u64, u64) {
    let recent = |look: &&Live| look.act == live.act && look.elapsed + HEALTH_OF >= live.elapsed;
    let first = history.iter().find(recent).unwrap_or(live);
    (
        live.views_good.saturating_sub(first.views_good),
        live.views.saturating_sub(first.views),
    )
}

#[cfg(test)]
mod tests {
    use surefoot_demo::{Act, Phase};

    use super::*;

    fn live(act: Act, elapsed_ms: u64, calls: u64) -> Live {
        Live {
            act,
            phase: Phase::Calm,
            elapsed: Duration::from_millis(elapsed_ms),
            is_down: false,
            placed: 3,
            open: 1,
            calls,
            asked: 0,
            charged_twice: 0,
            breaker: None,
            queue: 0,
            verifying: 0,
            p50: Duration::ZERO,
            p99: Duration::ZERO,
            views: 1000,
            views_good: 999,
        }
    }

    #[test]
    fn calls_are_counted_by_second_and_act() {
        let history = [
            live(Act::Plain, 100, 50),
            live(Act::Guarded, 0, 0),
            live(Act::Guarded, 500, 4),
            live(Act::Guarded, 900, 5),
            live(Act::Guarded, 1200, 7),
        ];
        let last = live(Act::Guarded, 3500, 9);
        assert_eq!(calls_by_second(&history, &last), [5, 2, 0, 2]);
    }

    #[test]
    fn the_health_of_the_pages_is_that_of_the_last_seconds() {
        let looks = |elapsed_ms, views, views_good| Live {
            views,
            views_good,
            ..live(Act::Plain, elapsed_ms, 0)
        };
        let history = [looks(1000, 100, 100), looks(6000, 200, 110)];
        assert_eq!(health(&history, &looks(8000, 250, 120)), (10, 50));
        assert_eq!(health(&[], &looks(0, 5, 5)), (0, 0));
    }

    #[test]
    fn a_line_is_told_at_each_turn_and_now_and_then() {
        let first = live(Act::Plain, 100, 0);
        assert!(is_due(&[], &first));
        let history = [first];
        assert!(!is_due(&history, &live(Act::Plain, 4900, 0)));
        assert!(is_due(&history, &live(Act::Plain, 5000, 0)));
        let down = Live {
            is_down: true,
            ..live(Act::Plain, 200, 0)
        };
        assert!(is_due(&history, &down));
        let told = |live: &Live| text::line(live).contains("queue 0, checkout down, charged");
        assert!(told(&down) && !told(&history[0]));
        assert!(is_due(&history, &live(Act::Guarded, 100, 0)));
    }
}
