//! `lab double-charge`: two requests with one key at the same moment.

use serde_json::{Value, json};
use surefoot_lab::double_charge::{self, DoubleCharge, DoubleChargeOptions, Once};

use super::expected::{self, Figure};
use super::grounds::{self, On};
use super::{arguments, program};
use crate::args::Shared;
use crate::exit::Failed;
use crate::output::{Output, Table};

const NAME: &str = "double_charge";

pub(super) async fn run(shared: &Shared, output: Output) -> Result<(), Failed> {
    let measured = measure(shared).await?;
    let figures = figures(&measured);
    let document = json!({ "ok": expected::hold(&figures), "measured": measured });
    output.answer(&document, || grounds::noted(shared, text(&measured)))?;
    expected::judge(&figures, "surefoot lab double-charge")
}

pub(super) async fn measure(shared: &Shared) -> Result<Vec<On<DoubleCharge>>, Failed> {
    let service = |manner| arguments(&["lab", "payment-service", manner]);
    let options = DoubleChargeOptions {
        program: program()?,
        check_then_act: service("check-then-act"),
        charge_only: service("charge-only"),
    };
    grounds::on_each(shared, async |place| {
        double_charge::measure(&options, place).await
    })
    .await
}

/// Each figure beside the one that must come out.
pub(super) fn figures(measured: &[On<DoubleCharge>]) -> Vec<Figure> {
    let expected = expected::of(NAME);
    let figures = |on: &On<DoubleCharge>| {
        let (naive, ours) = (&on.measured.check_then_act, &on.measured.claim_first);
        let equal = |contestant: &str, figure: &str, measured| {
            let named = format!("{contestant} {figure}");
            Figure::equal(NAME, named, &expected[contestant][figure], measured)
        };
        [
            equal("check_then_act", "statuses", json!(naive.statuses)),
            equal("check_then_act", "charges", json!(naive.charges)),
            equal("claim_first", "statuses", json!(ours.statuses)),
            equal("claim_first", "charges", json!(ours.charges)),
            later_retry(&expected["claim_first"], ours),
            equal(
                "claim_first",
                "later_retry_body_equals_first",
                json!(ours.later_retry_body_equals_first),
            ),
            equal("claim_first", "other_body", json!(ours.other_body)),
        ]
        .map(|figure| figure.on(on.database))
    };
    measured.iter().flat_map(figures).collect()
}

/// A later retry may be answered with 200, or with the stored status, marked as replayed, which is what the front door does.
fn later_retry(expected: &Value, ours: &Once) -> Figure {
    let (fresh, stored) = (&expected["later_retry"], &expected["statuses"][0]);
    let marked = ours.later_retry_marked.as_deref().unwrap_or("not marked");
    let replayed = *stored == ours.later_retry && marked == "replayed";
    Figure::judged(
        NAME,
        "claim_first later_retry",
        &json!(format!("{fresh} or {stored} (replayed)")),
        format!("{} ({marked})", ours.later_retry),
        replayed || *fresh == ours.later_retry,
    )
}

fn text(measured: &[On<DoubleCharge>]) -> String {
    let mut table = Table::new([
        "on",
        "the key is",
        "two at once",
        "charges",
        "the same later",
        "another body",
    ]);
    let statuses = |[one, other]: [u16; 2]| format!("{one} and {other}");
    for on in measured {
        let (naive, ours) = (&on.measured.check_then_act, &on.measured.claim_first);
        table.row([
            on.database.as_str().to_owned(),
            "looked for, then acted on".to_owned(),
            statuses(naive.statuses),
            naive.charges.to_string(),
            String::new(),
            String::new(),
        ]);
        let marked = ours.later_retry_marked.as_deref().unwrap_or_default();
        table.row([
            on.database.as_str().to_owned(),
            "claimed first (surefoot proxy)".to_owned(),
            statuses(ours.statuses),
            ours.charges.to_string(),
            format!("{}, {marked}", ours.later_retry),
            ours.other_body.to_string(),
        ]);
    }
    format!(
        "two requests with one Idempotency-Key at the same moment; the provider takes 200 ms and counts charges\n\n{}",
        table.text()
    )
}

#[cfg(test)]
mod tests {
    use surefoot_lab::DatabaseName;
    use surefoot_lab::double_charge::Twice;

    use super::*;

    fn measured() -> [On<DoubleCharge>; 1] {
        let measured = DoubleCharge {
            check_then_act: Twice {
                statuses: [201, 500],
                charges: 2,
            },
            claim_first: Once {
                statuses: [201, 409],
                charges: 1,
                later_retry: 201,
                later_retry_marked: Some("replayed".to_owned()),
                later_retry_body_equals_first: true,
                other_body: 422,
            },
        };
        [On {
            database: DatabaseName::Sqlite,
            measured,
        }]
    }

    #[test]
    fn a_marked_replay_of_the_stored_status_is_named_as_expected() {
        let text = expected::text(&figures(&measured()));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let row = "claim_first later_retry 200 or 201 (replayed) 201 (replayed)";
        assert!(words.contains(row), "{text}");
    }

    #[test]
    fn each_figure_counts() {
        assert!(expected::hold(&figures(&measured())));
        let spoilt: [fn(&mut DoubleCharge); 8] = [
            |it| it.check_then_act.charges = 1,
            |it| it.check_then_act.statuses = [200, 201],
            |it| it.claim_first.charges = 2,
            |it| it.claim_first.statuses = [201, 500],
            |it| it.claim_first.later_retry = 409,
            |it| it.claim_first.later_retry_marked = Some("executed".to_owned()),
            |it| it.claim_first.later_retry_body_equals_first = false,
            |it| it.claim_first.other_body = 201,
        ];
        for (number, spoil) in spoilt.into_iter().enumerate() {
            let mut measured = measured();
            spoil(&mut measured[0].measured);
            assert!(!expected::hold(&figures(&measured)), "{number}");
        }
    }
}
