//! How far long work is, on standard error and only where a person looks at it.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often the line is drawn again.
const TICK: Duration = Duration::from_millis(120);

/// The progress of one piece of work; it disappears when it is dropped. When standard error is no terminal, nothing
/// is drawn.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Work whose end is not known.
    pub(crate) fn waiting(message: String) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_message(message);
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Work of `total` steps.
    pub(crate) fn steps(total: u64, message: String) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}") {
            bar.set_style(style);
        }
        bar.set_message(message);
        Self(bar)
    }

    /// Says something else.
    pub(crate) fn say(&self, message: String) {
        self.0.set_message(message);
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
