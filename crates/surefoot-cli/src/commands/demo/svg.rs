//! Both acts as a picture: the provider's calls in each second, and the figures beside them. It draws what it is given.

use surefoot_demo::{Act, ActReport, Live, Report};

use super::text::title;
use super::view::calls_by_second;

const WIDTH: usize = 800;
const ROW: usize = 190;
const TOP: usize = 40;
const LEFT: usize = 50;
const PLOT_WIDTH: usize = 480;
const PLOT_HEIGHT: usize = 120;
/// Colours that people who see few colours tell apart (Okabe and Ito): act one, act two.
const COLOURS: [&str; 2] = ["#d55e00", "#0072b2"];

pub(super) fn draw(report: &Report, history: &[Live]) -> String {
    let mut body = String::new();
    let calls = Act::ALL.map(|act| calls_of(act, history));
    let seconds = calls.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let most = calls.iter().flatten().copied().max().unwrap_or(0).max(1);
    for (row, (act, calls)) in Act::ALL.into_iter().zip(&calls).enumerate() {
        let top = TOP + row * ROW;
        body.push_str(&label(LEFT, top, "bold", title(act)));
        body.push_str(&bars(calls, seconds, most, top + 12, COLOURS[row]));
        body.push_str(&figures(&report.acts[row], top + 24));
    }
    let height = TOP + 2 * ROW;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<title>Black Friday in two acts: calls of the payment provider per second</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

fn calls_of(act: Act, history: &[Live]) -> Vec<u64> {
    let last = history.iter().rev().find(|look| look.act == act);
    last.map(|last| calls_by_second(history, last))
        .unwrap_or_default()
}

fn bars(calls: &[u64], seconds: usize, most: u64, top: usize, colour: &str) -> String {
    let ground = top + PLOT_HEIGHT;
    let most_bars = usize::try_from(most).unwrap_or(usize::MAX);
    let width = (PLOT_WIDTH / seconds).max(2);
    let mut drawn = format!(
        "<path d=\"M{LEFT} {top} V{ground} H{}\" fill=\"none\" stroke=\"black\"/>\n",
        LEFT + PLOT_WIDTH
    );
    for (second, calls) in calls.iter().enumerate() {
        let height = usize::try_from(*calls).unwrap_or(0) * PLOT_HEIGHT / most_bars;
        drawn.push_str(&format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{height}\" fill=\"{colour}\"/>\n",
            LEFT + second * PLOT_WIDTH / seconds,
            ground - height,
            width - 1
        ));
    }
    drawn.push_str(&label(8, top + 10, "normal", &format!("{most}/s")));
    drawn.push_str(&label(
        LEFT + PLOT_WIDTH - 24,
        ground + 14,
        "normal",
        &format!("{seconds} s"),
    ));
    drawn
}

fn figures(act: &ActReport, top: usize) -> String {
    let lines = [
        format!("{} intents", act.intents),
        format!("{} provider calls", act.provider_calls),
        format!("{:.2} calls per intent in the outage", act.amplification),
        format!("{} charged twice", act.charged_twice),
        format!("{} lost", act.lost),
        format!("{:.2} % of the pages", act.page_availability * 100.0),
    ];
    let x = LEFT + PLOT_WIDTH + 20;
    let lines = lines.iter().enumerate();
    lines
        .map(|(number, line)| label(x, top + number * 18, "normal", line))
        .collect()
}

fn label(x: usize, y: usize, weight: &str, text: &str) -> String {
    format!("<text x=\"{x}\" y=\"{y}\" font-weight=\"{weight}\">{text}</text>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tallest_bar_is_as_high_as_the_plot() {
        let drawn = bars(&[5, 10], 2, 10, 0, "red");
        assert!(
            drawn.contains("y=\"60\" width=\"239\" height=\"60\""),
            "{drawn}"
        );
        assert!(
            drawn.contains("y=\"0\" width=\"239\" height=\"120\""),
            "{drawn}"
        );
    }
}
