//! `lab consumer`: a consumer of events that dies before it commits its offset.

use serde_json::json;
use surefoot_lab::consumer::{self, Consumed, Redelivery, RedeliveryOptions};

use super::expected::{self, Figure};
use super::grounds::{self, On};
use super::{arguments, program};
use crate::args::Shared;
use crate::exit::Failed;
use crate::output::{Output, Table};

const NAME: &str = "consumer";

pub(super) async fn run(shared: &Shared, output: Output) -> Result<(), Failed> {
    let measured = measure(shared).await?;
    let figures = figures(&measured);
    let document = json!({ "ok": expected::hold(&figures), "measured": measured });
    output.answer(&document, || grounds::noted(shared, text(&measured)))?;
    expected::judge(&figures, "surefoot lab consumer")
}

pub(super) async fn measure(shared: &Shared) -> Result<Vec<On<Redelivery>>, Failed> {
    let process = |manner| arguments(&["lab", "points-consumer", manner]);
    let options = RedeliveryOptions {
        program: program()?,
        naive: process("naive"),
        idempotent: process("idempotent"),
    };
    grounds::on_each(shared, async |place| {
        consumer::measure(&options, place).await
    })
    .await
}

/// Each figure beside the one that must come out.
pub(super) fn figures(measured: &[On<Redelivery>]) -> Vec<Figure> {
    let expected = expected::of(NAME);
    let figures = |on: &On<Redelivery>| {
        let Redelivery { naive, idempotent } = &on.measured;
        let equal = |figure: &str, measured| {
            Figure::equal(NAME, figure, &expected[figure], measured).on(on.database)
        };
        [
            equal("naive_points", json!(naive.points)),
            equal("idempotent_points", json!(idempotent.points)),
            equal("idempotent_log", json!(idempotent.log)),
        ]
    };
    measured.iter().flat_map(figures).collect()
}

fn text(measured: &[On<Redelivery>]) -> String {
    let mut table = Table::new(["on", "consumer", "points", "what it did with each delivery"]);
    for on in measured {
        let mut row = |name: &str, consumed: &Consumed| {
            table.row([
                on.database.as_str().to_owned(),
                name.to_owned(),
                consumed.points.to_string(),
                consumed.log.join(", "),
            ]);
        };
        row("naive", &on.measured.naive);
        row("idempotent", &on.measured.idempotent);
    }
    format!(
        "events e1 (+10) and e2 (+5) are applied, the consumer is killed before its offset is committed, both are delivered \
         again\n\n{}",
        table.text()
    )
}

#[cfg(test)]
mod tests {
    use surefoot_lab::DatabaseName;

    use super::*;

    fn measured() -> [On<Redelivery>; 1] {
        let consumed = |points, log: [&str; 4]| Consumed {
            points,
            log: log.map(str::to_owned).into(),
        };
        let measured = Redelivery {
            naive: consumed(30, ["e1 applied", "e2 applied", "e1 applied", "e2 applied"]),
            idempotent: consumed(15, ["e1 applied", "e2 applied", "e1 skipped", "e2 skipped"]),
        };
        [On {
            database: DatabaseName::Postgres,
            measured,
        }]
    }

    #[test]
    fn each_figure_counts() {
        assert!(expected::hold(&figures(&measured())));
        let spoilt: [fn(&mut Redelivery); 3] = [
            |it| it.naive.points = 15,
            |it| it.idempotent.points = 30,
            |it| it.idempotent.log.truncate(3),
        ];
        for (number, spoil) in spoilt.into_iter().enumerate() {
            let mut measured = measured();
            spoil(&mut measured[0].measured);
            assert!(!expected::hold(&figures(&measured)), "{number}");
        }
    }
}
