//! Every time of the demo in one place. One second of the story lasts a quarter of a second here, and what the clients'
//! time-outs are compared with lies far from them, so that a busy host changes no count.

use std::time::Duration;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The pause between two customers.
pub(crate) const CUSTOMER_EVERY: Duration = ms(100);
/// The pause between two visitors of the pages.
pub(crate) const VISITOR_EVERY: Duration = ms(20);
/// The pause between the two clicks of a double click.
pub(crate) const CLICKS_APART: Duration = ms(10);

/// The provider on a good day, in milliseconds: its p99 is 800 ms in the story.
pub(crate) const WELL_MS: std::ops::RangeInclusive<u64> = 40..=200;
/// What who clicks twice waited for.
pub(crate) const CLICKED_TWICE_MS: std::ops::RangeInclusive<u64> = 160..=200;
/// The provider on this day: 25 s in the story.
pub(crate) const SLOW: Duration = ms(6250);
/// When a slow call takes effect that does so late: after every time-out of a caller.
pub(crate) const LATE: Duration = ms(1700);
/// How long it takes to break a connection.
pub(crate) const BREAKS_AFTER: Duration = ms(20);

/// How long a customer's telephone waits: 10 s in the story.
pub(crate) const CUSTOMER_TIMEOUT: Duration = ms(2500);
/// The pauses before a telephone tries again: three times.
pub(crate) const CUSTOMER_PAUSES: [Duration; 3] = [ms(400), ms(800), ms(1600)];
/// How long a visitor waits for a page: 10 s in the story.
pub(crate) const VISITOR_TIMEOUT: Duration = ms(2500);

/// How often the gateway of act one sends a request.
pub(crate) const GATEWAY_TRIES: u32 = 3;
/// How long it waits for each: 8 s in the story.
pub(crate) const GATEWAY_TIMEOUT: Duration = ms(2000);
/// How often the checkout of act one calls the provider for one request.
pub(crate) const PLAIN_TRIES: u32 = 4;
/// How long it waits for each: 4 s in the story.
pub(crate) const PLAIN_TIMEOUT: Duration = ms(1000);
/// How long both wait in between.
pub(crate) const PLAIN_PAUSE: Duration = ms(50);

/// Act two: how long one call of the provider may take.
pub(crate) const CHARGE_TIMEOUT: Duration = ms(1000);
/// Act two: how long the breaker keeps charges away from the provider.
pub(crate) const BREAKER_OPEN: Duration = ms(400);
/// Act two: how long after it left a call may still take effect, as the provider's contract says.
pub(crate) const SETTLES_WITHIN: Duration = ms(2500);
/// Act two: how long one question to the provider may take.
pub(crate) const ASK_TIMEOUT: Duration = ms(800);
/// Act two: the pause between two questions.
pub(crate) const ASK_EVERY: Duration = ms(250);
/// Act two: how long a customer is kept waiting before the answer is "we are working on it".
pub(crate) const ANSWER_WITHIN: Duration = ms(600);
/// Act two: how often a page that says so looks again.
pub(crate) const LOOK_EVERY: Duration = ms(250);
/// Act two: how long a telephone goes on. Nobody waits so long; it is the end of the demo's patience.
pub(crate) const CUSTOMER_HORIZON: Duration = ms(60_000);

/// The widget on a good day, in milliseconds.
pub(crate) const WIDGET_MS: std::ops::RangeInclusive<u64> = 10..=30;
/// The widget while it hangs.
pub(crate) const WIDGET_HANGS: Duration = SLOW;
/// Act two: how long the product page waits for it.
pub(crate) const WIDGET_TIMEOUT: Duration = ms(100);
/// How many pages are made at once: the pool of threads that all pages share.
pub(crate) const PAGES_AT_ONCE: usize = 16;

/// How long to let running orders end before the kill.
pub(crate) const QUIET_BEFORE_KILL: Duration = ms(1500);
/// How long to wait until the calls are out that the kill is to hit.
pub(crate) const KILL_WAIT: Duration = ms(2000);
/// How long the checkout is down before it is started again.
pub(crate) const DOWN: Duration = ms(200);
/// After so long without a call the provider's books are closed: no call takes effect so late.
pub(crate) const BOOKS_QUIET: Duration = ms(2000);
/// How long an act waits for its end at most, after the last customer came.
pub(crate) const ACT_END_MAX: Duration = ms(90_000);
/// How often it is told what it looks like.
pub(crate) const LIVE_EVERY: Duration = ms(250);
