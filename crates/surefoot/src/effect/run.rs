//! Carries out one effect: decide, write down, look at the clock, call, decide, write down.

use std::future::Future;
use std::time::Duration;

use surefoot_core::effect::{Answer, Declared, Effect, EffectRecovery, EffectTerms};
use surefoot_core::failure::Failure;
use surefoot_core::id::{DependencyName, EffectName, ProviderKey};
use surefoot_core::payload::Payload;
use surefoot_core::time::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::ask::{ask, hand_over};
use super::book::Book;
use super::chain::{Applied, unsound};
use super::pace::{LEAVE_WITHIN, call_limit, checked, lease_until};
use super::record::{conclude, record, told};
use super::recover::Recover;
use super::steps::{CROWDED, ROUNDS_MAX, Todo, todo};
use super::write::Written;
use crate::bounded::STORE_TIMEOUT;
use crate::checklist::as_answered;
use crate::cx::Cx;
use crate::job::Outcome;

const TOO_LATE: &str = "the store answered too late for the call to leave, so nothing was sent";

/// What the handler declared, but for its recovery.
pub(super) struct Call {
    pub(super) place: u32,
    pub(super) name: EffectName,
    pub(super) dependency: Option<DependencyName>,
    pub(super) timeout: Option<Duration>,
    pub(super) cost: u64,
}

/// What is to be done about an effect.
enum Ready {
    /// Nothing: this is its result.
    Known(Payload),
    /// Its row is durable and there is room in the lease: send it, and wait for the answer until then.
    Send(Box<Effect>, Instant),
}

/// See the module.
pub(super) async fn carry_out<F, Fut>(
    cx: &Cx,
    call: Call,
    mut recovery: Recover<'_>,
    send: F,
) -> Outcome<Payload>
where
    F: FnOnce(ProviderKey) -> Fut + Send,
    Fut: Future<Output = Outcome<Applied>> + Send,
{
    cx.book().admits(call.place)?;
    sound(cx, &call, &recovery)?;
    let (effect, ends_at) = match prepare(cx, &call, &mut recovery).await? {
        Ready::Known(result) => return Ok(result),
        Ready::Send(effect, ends_at) => (effect, ends_at),
    };
    cx.book().sends();
    let (answer, failure) = match timeout_at(ends_at, send(effect.key())).await {
        Ok(Ok(applied)) => (
            Answer::Applied {
                result: applied.result,
                cost: applied.cost,
            },
            None,
        ),
        Ok(Err(failure)) => (told(&failure), Some(failure)),
        Err(_) => {
            let text = format!(
                "{} gave no answer within {:?}",
                effect.name, effect.terms.timeout
            );
            let failure = Failure::transient(text);
            (Answer::MaybeApplied(failure.text.clone()), Some(failure))
        }
    };
    let known = record(cx, *effect, answer).await?;
    conclude(cx.book(), &known, failure)
}

fn sound(cx: &Cx, call: &Call, recovery: &Recover<'_>) -> Outcome<()> {
    if let Some(effects) = cx.book().answered_for() {
        as_answered(effects, &call.name, recovery.recovery).map_err(|fault| unsound(&fault))?;
    }
    let lease = cx.book().policy().lease;
    let terms = EffectTerms {
        recovery: recovery.recovery,
        timeout: call_limit(call.timeout, recovery.recovery, lease, Duration::MAX),
    };
    let plan = recovery.ask.as_ref().map(|ask| &ask.plan);
    checked(terms, plan, lease).map_err(|faults| unsound(&format!("{}: {faults}", call.name)))
}

/// Until when an answer is written again and again; the attempt itself ends earlier.
pub(super) fn write_until(cx: &Cx) -> Instant {
    cx.ends_at().max(Instant::now()) + STORE_TIMEOUT
}

/// Decides until there is something to send or to return.
async fn prepare(cx: &Cx, call: &Call, recovery: &mut Recover<'_>) -> Outcome<Ready> {
    let book = cx.book();
    for _ in 0..ROUNDS_MAX {
        let (now, decided_at) = (book.now(), Instant::now());
        let declared = declared(cx, call, recovery.recovery, now);
        let known = book.known(call.place);
        let holder = (&**book.job(), book.policy());
        let cancelled = book.running().is_cancel_requested();
        let leaves_by = now.after(LEAVE_WITHIN);
        match todo(known.as_ref(), &declared, holder, cancelled, leaves_by, now) {
            Todo::Return(result) => return Ok(Ready::Known(result)),
            Todo::Changed(name) => return Err(changed(book, &declared, &name)),
            Todo::AskAt(_, error) => return Err(book.doubts(&error)),
            Todo::Person(error) => return Err(hand_over(cx, known, &error).await),
            Todo::Refuse(refusal) => return Err(book.refuses(refusal)),
            Todo::Ask(effect) => ask(cx, &effect, recovery).await?,
            Todo::Send(effect) => {
                if let Some(ready) = leave(cx, effect, decided_at).await? {
                    return Ok(ready);
                }
            }
        }
    }
    Err(Failure::put_off(CROWDED).not_sent())
}

/// The effect as the core is told of it: its time-out is cut to what is left of the attempt and to the job's deadline.
fn declared(cx: &Cx, call: &Call, recovery: EffectRecovery, now: Timestamp) -> Declared {
    let book = cx.book();
    let deadline = book.job().deadline_at;
    let left = cx
        .time_left()
        .min(deadline.map_or(Duration::MAX, |deadline| deadline.since(now)));
    Declared {
        place: call.place,
        name: call.name.clone(),
        dependency: call.dependency.clone(),
        terms: EffectTerms {
            recovery,
            timeout: call_limit(call.timeout, recovery, book.policy().lease, left),
        },
        cost: call.cost,
    }
}

/// Writes down that the call is about to leave. It may leave when the store's answer came in time by this node's own clock;
/// `None` when somebody else wrote first.
async fn leave(cx: &Cx, effect: Box<Effect>, decided_at: Instant) -> Outcome<Option<Ready>> {
    let book = cx.book();
    let timeout = effect.terms.timeout;
    if timeout.is_zero() {
        return Err(Failure::put_off("the attempt's time is over").not_sent());
    }
    let leave_by = decided_at + LEAVE_WITHIN;
    let lease_until = effect
        .leaves_by
        .map(|leaves_by| lease_until(leaves_by, timeout));
    match book.write(&effect, lease_until, leave_by).await {
        Written::Done if Instant::now() < leave_by => {
            let ends_at = Instant::now() + timeout;
            Ok(Some(Ready::Send(effect, ends_at)))
        }
        Written::Changed(on_record) => {
            book.learn(effect.place, on_record.map(|effect| *effect));
            Ok(None)
        }
        Written::Lost => Err(book.loses("the lease was lost before the call left".into())),
        Written::Done | Written::Unsure => {
            record(cx, *effect, Answer::NotSent(TOO_LATE.into())).await?;
            Err(Failure::put_off(TOO_LATE).not_sent())
        }
    }
}

/// The job was begun by other code.
pub(super) fn changed(book: &Book, declared: &Declared, name: &EffectName) -> Failure {
    let place = declared.place;
    let text = format!(
        "the handler comes to {} at place {place}, where this job has {name} on record: it was begun by other code; \
         run the code it was begun with, or replay it as a new effect once every effect of it is settled",
        declared.name
    );
    book.park(Failure::permanent(text).not_sent())
}
