//! Plots as SVG: bars and lines, with their figures written beside them. It draws what it is given and reads no file.

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 90.0;
/// Colours that people who see few colours tell apart (Okabe and Ito).
const COLOURS: [&str; 3] = ["#0072b2", "#d55e00", "#009e73"];

/// One line of a plot.
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// A bar for each figure.
pub(super) fn bars(title: &str, figures: &[(&str, f64)]) -> String {
    let highest = figures
        .iter()
        .map(|(_, figure)| *figure)
        .fold(1.0, f64::max);
    let slot = (WIDTH - LEFT - RIGHT) / width_of(figures.len());
    let mut body = String::new();
    for (index, (name, figure)) in figures.iter().enumerate() {
        let x = LEFT + slot * (width_of(index) + 0.2);
        let y = across(*figure, highest);
        let (width, height) = (slot * 0.6, HEIGHT - BOTTOM - y);
        let colour = COLOURS[index % COLOURS.len()];
        let middle = x + width / 2.0;
        body.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>\n"
        ));
        body.push_str(&label(middle, y - 6.0, "middle", &format!("{figure}")));
        body.push_str(&label(middle, HEIGHT - BOTTOM + 20.0, "middle", name));
    }
    whole(title, &body)
}

/// A line for each series, over the same axis.
pub(super) fn lines(title: &str, axis: &str, series: &[Series]) -> String {
    let points = || series.iter().flat_map(|series| &series.points);
    let highest = points().map(|(_, y)| *y).fold(1.0, f64::max);
    let first = points().map(|(x, _)| *x).fold(f64::MAX, f64::min);
    let last = points().map(|(x, _)| *x).fold(first + 1.0, f64::max);
    let along = |x: f64| LEFT + (x - first) / (last - first) * (WIDTH - LEFT - RIGHT);
    let mut body = String::new();
    for (index, series) in series.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let path: Vec<String> = series
            .points
            .iter()
            .map(|(x, y)| format!("{:.1},{:.1}", along(*x), across(*y, highest)))
            .collect();
        body.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
            path.join(" ")
        ));
        let y = HEIGHT - 34.0 + 14.0 * (width_of(index) - 1.0);
        body.push_str(&format!(
            "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\n",
            y - 9.0
        ));
        body.push_str(&label(LEFT + 16.0, y, "start", series.name));
    }
    for (x, _) in series.first().map_or(&[][..], |series| &series.points) {
        body.push_str(&label(
            along(*x),
            HEIGHT - BOTTOM + 16.0,
            "middle",
            &format!("{x}"),
        ));
    }
    body.push_str(&label(WIDTH - RIGHT, HEIGHT - BOTTOM + 32.0, "end", axis));
    body.push_str(&label(
        LEFT - 8.0,
        across(highest, highest) + 4.0,
        "end",
        &format!("{highest:.0}"),
    ));
    body.push_str(&label(LEFT - 8.0, across(0.0, highest) + 4.0, "end", "0"));
    whole(title, &body)
}

/// How far down a figure lies.
fn across(figure: f64, highest: f64) -> f64 {
    HEIGHT - BOTTOM - figure / highest * (HEIGHT - TOP - BOTTOM)
}

fn width_of(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
        escaped(text)
    )
}

fn whole(title: &str, body: &str) -> String {
    let ground = HEIGHT - BOTTOM;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"13\">{title}</text>\n\
         <path d=\"M{LEFT} {TOP} V{ground} H{}\" fill=\"none\" stroke=\"black\"/>\n{body}</svg>\n",
        WIDTH - RIGHT,
        title = escaped(title)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_stays_within_its_frame() {
        let series = Series {
            name: "a < b",
            points: vec![(1.0, 0.0), (2.0, 10.0)],
        };
        let svg = lines("t & u", "x", &[series]);
        assert!(svg.contains("points=\"70.0,310.0 690.0,50.0\""), "{svg}");
        assert!(
            svg.contains("t &amp; u") && svg.contains("a &lt; b"),
            "{svg}"
        );
        let bars = bars("t", &[("a", 1.0), ("b", 2.0)]);
        assert!(
            bars.contains("y=\"180.0\" width=\"186.0\" height=\"130.0\""),
            "{bars}"
        );
    }
}
