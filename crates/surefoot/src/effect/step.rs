//! A local computation whose result is kept: written once, never computed again.

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;
use surefoot_core::effect::{Begin, Declared, EffectRecovery, EffectTerms, begin, remembered};
use surefoot_core::failure::Failure;
use surefoot_core::id::{EffectName, NameError};
use surefoot_core::payload::Payload;

use super::chain::{unreadable, unsound};
use super::run::{changed, write_until};
use super::steps::ROUNDS_MAX;
use super::write::Written;
use crate::cx::Cx;
use crate::job::Outcome;

/// Computes a step, or returns its kept result.
pub(crate) async fn step<T, F, Fut>(
    cx: &Cx,
    place: u32,
    name: Result<EffectName, NameError>,
    compute: F,
) -> Outcome<T>
where
    T: Serialize + DeserializeOwned,
    F: FnOnce() -> Fut,
    Fut: Future<Output = Outcome<T>>,
{
    let name = name.map_err(|error| unsound(&error.to_string()))?;
    let book = cx.book();
    book.admits(place)?;
    let declared = Declared {
        place,
        name,
        dependency: None,
        terms: EffectTerms {
            recovery: EffectRecovery::Step,
            timeout: cx.time_left(),
        },
        cost: 0,
    };
    if let Some(kept) = kept(cx, &declared)? {
        return kept.decode().map_err(|error| unreadable(&error));
    }
    let result = compute().await?;
    let payload = Payload::from_serialize(&result).map_err(|error| unreadable(&error))?;
    for _ in 0..ROUNDS_MAX {
        let effect = remembered(&declared, book.job(), payload.clone(), book.now());
        match book.write(&effect, None, write_until(cx)).await {
            Written::Done => return Ok(result),
            Written::Changed(on_record) => {
                book.learn(place, on_record.map(|effect| *effect));
                if let Some(kept) = kept(cx, &declared)? {
                    return kept.decode().map_err(|error| unreadable(&error));
                }
            }
            Written::Lost => return Err(book.loses("the lease was lost during a step".into())),
            Written::Unsure => {
                return Err(Failure::transient("the result of a step could not be kept"));
            }
        }
    }
    Err(Failure::transient("the result of a step could not be kept"))
}

/// The result on record.
fn kept(cx: &Cx, declared: &Declared) -> Outcome<Option<Payload>> {
    let book = cx.book();
    let now = book.now();
    let known = book.known(declared.place);
    match begin(known.as_ref(), declared, book.job(), now, now) {
        Begin::Return(result) => Ok(Some(result)),
        Begin::Send(_) if known.is_none() => Ok(None),
        Begin::Changed(name) => Err(changed(book, declared, &name)),
        // An effect of the same name stands here, and what became of it is not for a step to settle.
        Begin::Send(_) | Begin::Ask(_) | Begin::AskAt(..) | Begin::Person(_) => {
            Err(changed(book, declared, &declared.name))
        }
    }
}
