//! Carries out one effect: decide, write down, look at the clock, call, decide, write down.

use std::future::Future;
use std::time::Duration;

use surefoot_core::classify::{Certainty, Class};
use surefoot_core::effect::{
    Answer, Asked, Begin, Declared, Effect, EffectState, EffectTerms, Unknown, Verdict, VerifyPlan,
    answered, asked, begin,
};
use surefoot_core::failure::Failure;
use surefoot_core::id::{DependencyName, EffectName, ProviderKey};
use surefoot_core::payload::Payload;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::book::Book;
use super::chain::{Applied, unsound};
use super::outrun::{After, after_witness, left_at};
use super::pace::{LEAVE_WITHIN, PUT_OFF, call_limit, checked, refusal_to_send};
use super::recover::Recover;
use super::tell;
use super::write::Written;
use crate::bounded::STORE_TIMEOUT;
use crate::checklist::EffectAnswers;
use crate::cx::Cx;
use crate::job::Outcome;

/// How often somebody else may write first before an attempt gives up.
const ROUNDS_MAX: usize = 8;

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
        as_answered(call, recovery.unknown, effects).map_err(|fault| unsound(&fault))?;
    }
    let lease = cx.book().policy().lease;
    let terms = EffectTerms {
        unknown: recovery.unknown,
        timeout: call_limit(call.timeout, recovery.unknown, lease, Duration::MAX),
    };
    let plan = recovery.ask.as_ref().map(|ask| &ask.plan);
    checked(terms, plan, lease).map_err(|faults| unsound(&format!("{}: {faults}", call.name)))
}

/// Whether the checklist has this effect, with this recovery: what was not reviewed is not sent.
fn as_answered(call: &Call, unknown: Unknown, effects: &[EffectAnswers]) -> Result<(), String> {
    let name = &call.name;
    match effects.iter().find(|effect| effect.name == name.as_str()) {
        None => Err(format!("{name} is not on the checklist of its kind")),
        Some(effect) if effect.unknown != unknown => Err(format!(
            "{name} is {unknown:?} in the handler and {:?} on the checklist of its kind",
            effect.unknown
        )),
        Some(_) => Ok(()),
    }
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
        let leaves_by = now.after(LEAVE_WITHIN);
        let declared = declared(cx, call, recovery.unknown, now);
        let known = book.known(call.place);
        match begin(known.as_ref(), &declared, book.job(), leaves_by, now) {
            Begin::Return(result) => return Ok(Ready::Known(result)),
            Begin::Changed(name) => return Err(changed(book, &declared, &name)),
            Begin::AskAt(_, error) => return Err(book.doubts(&error)),
            Begin::Person(error) => return Err(hand_over(cx, known, &error).await),
            Begin::Ask(effect) => ask(cx, &effect, recovery).await?,
            Begin::Send(effect) => {
                let cancelled = book.running().is_cancel_requested();
                let refusal =
                    refusal_to_send(known.as_ref(), book.job(), book.policy(), cancelled, now);
                if let Some(refusal) = refusal {
                    return Err(book.refuses(refusal));
                }
                if let Some(ready) = leave(cx, effect, decided_at).await? {
                    return Ok(ready);
                }
            }
        }
    }
    Err(Failure::rate_limited(PUT_OFF, "others kept writing about this effect").not_sent())
}

/// The effect as the core is told of it: its time-out is cut to what is left of the attempt and to the job's deadline.
fn declared(cx: &Cx, call: &Call, unknown: Unknown, now: Timestamp) -> Declared {
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
            unknown,
            timeout: call_limit(call.timeout, unknown, book.policy().lease, left),
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
        return Err(Failure::rate_limited(PUT_OFF, "the attempt's time is over").not_sent());
    }
    let leave_by = decided_at + LEAVE_WITHIN;
    let lease_until = effect
        .leaves_by
        .map(|leaves_by| leaves_by.after(timeout).after(EffectTerms::MARGIN));
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
            Err(Failure::rate_limited(PUT_OFF, TOO_LATE).not_sent())
        }
    }
}

/// Asks the provider what became of the effect and writes it down. An error ends the run.
async fn ask(cx: &Cx, effect: &Effect, recovery: &mut Recover<'_>) -> Outcome<()> {
    let book = cx.book();
    // Where the attempt ends before there is an answer, this is what it came to.
    let no_answer =
        book.doubts(&format!("no answer yet as to what became of {}", effect.name).into());
    let Some(ask) = &mut recovery.ask else {
        return Err(no_answer);
    };
    let asked_at = book.now();
    let verdict = ask.once(effect.key(), cx.time_left()).await;
    if let Some(client) = book.client() {
        tell::tell_verified(client, &book.job().kind, effect, &verdict);
    }
    judge(cx, effect, verdict, &ask.plan, asked_at).await
}

/// Writes down what follows from a verdict on a question that was asked at `asked_at`: what the provider looked up then says
/// nothing about what came later, however long the answer took.
async fn judge(
    cx: &Cx,
    effect: &Effect,
    verdict: Verdict,
    plan: &VerifyPlan,
    asked_at: Timestamp,
) -> Outcome<()> {
    let book = cx.book();
    let (next, follows) = asked(effect, verdict, plan, asked_at, book.now(), book.roll());
    match book.write(&next, None, write_until(cx)).await {
        Written::Done => match follows {
            Asked::Return(_) | Asked::Send => Ok(()),
            Asked::AskAt(_, error) | Asked::Person(error) => Err(book.doubts(&error)),
        },
        // A witness came first: what it said is decided on.
        Written::Changed(on_record) => {
            book.learn(effect.place, on_record.map(|effect| *effect));
            Ok(())
        }
        Written::Lost => Err(book.loses("the lease was lost while the provider was asked".into())),
        Written::Unsure => {
            Err(book.doubts(&"what the provider said could not be written down".into()))
        }
    }
}

/// A person decides: that is written down, so that it holds whatever the handler makes of it.
async fn hand_over(cx: &Cx, known: Option<Effect>, error: &ErrorText) -> Failure {
    let book = cx.book();
    let open = known.filter(|effect| match effect.state {
        EffectState::NeedsHuman { .. } => false,
        EffectState::Intended { .. }
        | EffectState::Confirmed { .. }
        | EffectState::Rejected { .. }
        | EffectState::Unknown { .. }
        | EffectState::Absent { .. } => true,
    });
    if let Some(effect) = open {
        let verdict = Verdict::NeedsHuman(error.clone());
        match judge(cx, &effect, verdict, &VerifyPlan::default(), book.now()).await {
            Err(failure) => return failure,
            // A witness came first; the next attempt goes by what it said.
            Ok(()) => return book.doubts(error),
        }
    }
    book.doubts(error)
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

/// What a failed call says about its effect.
fn told(failure: &Failure) -> Answer {
    let text = failure.text.clone();
    match failure.certainty() {
        Certainty::NotSent => Answer::NotSent(text),
        Certainty::Rejected => Answer::Rejected(text),
        // Without a result nothing can be kept: somebody has to say what it was.
        Certainty::MaybeApplied | Certainty::Applied => Answer::MaybeApplied(text),
    }
}

/// Writes an answer down and returns the effect as it is on record then. Where a witness came first, its word stands, and
/// another answer is a dispute.
async fn record(cx: &Cx, sent: Effect, answer: Answer) -> Outcome<Effect> {
    let book = cx.book();
    let ended_at = book.now();
    let mut next = answered(&sent, answer.clone(), left_at(&answer, ended_at), ended_at);
    let mut disputed = false;
    for _ in 0..ROUNDS_MAX {
        match book.write(&next, None, write_until(cx)).await {
            Written::Done => {
                if let Some(client) = book.client().filter(|_| disputed) {
                    tell::tell_disputed(client, &book.job().kind, &next);
                }
                return Ok(next);
            }
            Written::Lost => return Err(book.loses(said_late(&sent, &answer))),
            Written::Unsure => {
                let text = format!("what became of {} could not be written down", sent.name);
                return Err(book.doubts(&text.into()));
            }
            Written::Changed(on_record) => {
                book.learn(sent.place, on_record.as_deref().cloned());
                // The row of a call that did not leave never came to be.
                let Some(on_record) = on_record else {
                    return Ok(next);
                };
                match after_witness(&on_record, &sent, &answer, book.now()) {
                    After::Stands => return Ok(*on_record),
                    After::Write(effect) => (next, disputed) = (*effect, false),
                    After::Dispute(effect) => (next, disputed) = (*effect, true),
                }
            }
        }
    }
    Err(book.doubts(&"others kept writing about this effect".into()))
}

/// What a holder that lost its lease has to say, for its attempt's record.
fn said_late(effect: &Effect, answer: &Answer) -> ErrorText {
    let name = &effect.name;
    match answer {
        Answer::Applied { result, .. } => format!("{name} was applied: {}", result.as_str()),
        Answer::Rejected(error) => format!("{name} was rejected: {error}"),
        Answer::NotSent(error) => format!("{name} was not sent: {error}"),
        Answer::MaybeApplied(error) => format!("{name} may have been applied: {error}"),
    }
    .into()
}

/// What the handler is told.
fn conclude(book: &Book, effect: &Effect, failure: Option<Failure>) -> Outcome<Payload> {
    let failure = failure.unwrap_or_else(|| Failure::unknown("a witness disputes the answer"));
    match &effect.state {
        EffectState::Confirmed { result, .. } => Ok(result.clone()),
        EffectState::Rejected { .. } | EffectState::Absent { .. } => Err(failure),
        EffectState::NeedsHuman { error, .. } => Err(book.doubts(error)),
        EffectState::Unknown { .. } | EffectState::Intended { .. } => match effect.terms.unknown {
            Unknown::Verify { .. } | Unknown::AtMostOnce => Err(book.doubts(&failure.text)),
            // Put off, it is sent again under its key and uses up no attempt; the effect stays in doubt.
            Unknown::SameKey { .. } if failure.put_off => Err(failure),
            Unknown::SameKey { .. } => Err(Failure {
                class: Class::Unknown,
                ..failure
            }),
            Unknown::Step | Unknown::Repeatable => Err(failure),
        },
    }
}
