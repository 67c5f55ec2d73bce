//! `migrate`: opening a database brings its schema up to date; this command does that and nothing else.

use serde_json::json;

use super::database::Place;
use crate::args::Shared;
use crate::exit::Failed;
use crate::output::Output;

pub(super) async fn run(shared: &Shared, output: Output) -> Result<(), Failed> {
    let place = Place::of_database(shared)?;
    let store = place.store().await?;
    store.database_now().await?;
    let document = json!({ "database": place.shown(), "up_to_date": true });
    output.answer(&document, || {
        format!("{} is there and its schema is up to date", place.shown())
    })?;
    Ok(())
}
