//! Asks what became of an effect, or leaves it to a person, and writes down what follows. Nothing here sends.

use surefoot_core::effect::{Asked, Effect, asked};
use surefoot_core::failure::Failure;
use surefoot_core::text::ErrorText;

use super::recover::Recover;
use super::run::write_until;
use super::steps::to_person;
use super::tell;
use super::write::Written;
use crate::cx::Cx;
use crate::job::Outcome;

/// Asks the provider what became of the effect and writes it down. An error ends the run.
pub(super) async fn ask(cx: &Cx, effect: &Effect, recovery: &mut Recover<'_>) -> Outcome<()> {
    let book = cx.book();
    // Where the attempt ends before there is an answer, this is what it came to.
    let no_answer =
        book.doubts(&format!("no answer yet as to what became of {}", effect.name).into());
    let Some(ask) = &mut recovery.ask else {
        return Err(no_answer);
    };
    // What the provider looks up from here on says nothing about what comes later, however long its answer takes.
    let asked_at = book.now();
    let verdict = ask.once(effect.key(), cx.time_left()).await;
    if let Some(client) = book.client() {
        tell::tell_verified(client, &book.job().kind, effect, &verdict);
    }
    let (next, follows) = asked(
        effect,
        verdict,
        &ask.plan,
        asked_at,
        book.now(),
        book.roll(),
    );
    if !keep(cx, &next).await? {
        return Ok(());
    }
    match follows {
        Asked::Return(_) | Asked::Send => Ok(()),
        Asked::AskAt(_, error) | Asked::Person(error) => Err(book.doubts(&error)),
    }
}

/// A person decides: that is written down, so that it holds whatever the handler makes of it.
pub(super) async fn hand_over(cx: &Cx, known: Option<Effect>, error: &ErrorText) -> Failure {
    let book = cx.book();
    let next = known.and_then(|effect| to_person(&effect, error, book.now(), book.roll()));
    let Some(next) = next else {
        return book.doubts(error);
    };
    match keep(cx, &next).await {
        // Where a witness came first, the next attempt goes by what it said.
        Ok(_) => book.doubts(error),
        Err(failure) => failure,
    }
}

/// Whether what the provider said is on record; `false` where a witness came first, and what it said is decided on.
async fn keep(cx: &Cx, next: &Effect) -> Outcome<bool> {
    let book = cx.book();
    match book.write(next, None, write_until(cx)).await {
        Written::Done => Ok(true),
        Written::Changed(on_record) => {
            book.learn(next.place, on_record.map(|effect| *effect));
            Ok(false)
        }
        Written::Lost => Err(book.loses("the lease was lost while the provider was asked".into())),
        Written::Unsure => {
            Err(book.doubts(&"what the provider said could not be written down".into()))
        }
    }
}
