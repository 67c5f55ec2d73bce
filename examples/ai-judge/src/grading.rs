//! The job. Its one effect is a question to a model, which knows no keys and cannot be asked what became of a question.

use serde::{Deserialize, Serialize};
use surefoot::{Cx, Job, Outcome, Repeatable};

use crate::book::Book;
use crate::model::{self, Marked, Model};

/// The name of the question on record.
pub const EFFECT: &str = "model.grade";
/// What a thousand characters of question and answer cost at most, in millionths.
const COST_PER_THOUSAND: u64 = 400;

/// A piece of work to be graded; the submission is what makes it one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grade {
    /// Which submission.
    pub submission: String,
    /// What the student wrote.
    pub answer: String,
    /// How it is to be graded.
    pub rubric: String,
}

/// The final grade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graded {
    /// 0 to 10.
    pub score: u8,
    /// For the student.
    pub feedback: String,
}

impl Job for Grade {
    const KIND: &'static str = "grade";
    type Output = Graded;

    fn key(&self) -> Option<String> {
        Some(self.submission.clone())
    }
}

/// Grades one submission.
///
/// # Errors
/// What the model answered: 503, 429 and silence may pass and are tried again, a rubric that it refuses is not.
pub async fn grade(work: Grade, cx: Cx, model: Model, book: Book) -> Outcome<Graded> {
    let expected = expected_cost(&work);
    // To ask a model twice harms nobody: a question changes nothing, and an answer counts only once it is in our book. So
    // what is unknown is simply asked again (`Repeatable`). It is not free: a call that was cut off may be billed all the
    // same, so its cost stays booked beside that of the next one. And the second answer may be another one, which is why
    // the grade is decided in `Book::decide` and nowhere else.
    let marked = cx
        .effect(EFFECT)
        .dependency(model::NAME)?
        .cost(expected)
        .recover(Repeatable)
        .call_with_cost(|_no_key| asked(&work, &cx, &model, &book))
        .await?;
    let graded = Graded {
        score: marked.score.min(10),
        feedback: marked.feedback,
    };
    book.decide(&cx, &work, graded).await
}

/// One question, with its place in the book before it leaves and after it was answered.
async fn asked(
    work: &Grade,
    cx: &Cx,
    model: &Model,
    book: &Book,
) -> Outcome<(Marked, Option<u64>)> {
    let expected = expected_cost(work);
    book.asks(cx, expected).await?;
    let raw = match model.ask(work).await {
        Ok(raw) => raw,
        Err(failure) => {
            if failure.certainty().is_harmless() {
                book.costs(cx, 0).await?;
            }
            return Err(failure);
        }
    };
    let marked = raw.marked();
    let cost = match &marked {
        Ok(marked) => marked.cost_micros.unwrap_or(expected),
        Err(failure) if failure.certainty().is_harmless() => 0,
        Err(_) => expected,
    };
    book.hears(cx, &raw, cost).await?;
    Ok((marked?, Some(cost)))
}

fn expected_cost(work: &Grade) -> u64 {
    let characters = work.answer.len().saturating_add(work.rubric.len());
    let thousands = u64::try_from(characters / 1000).unwrap_or(u64::MAX);
    thousands
        .saturating_add(1)
        .saturating_mul(COST_PER_THOUSAND)
}
