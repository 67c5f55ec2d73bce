//! What was counted about the services that this process calls, in the OpenMetrics text format. The counts come from
//! elsewhere, with labels from closed sets; nothing is added up here.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::dependency::{Dependencies, DependencyCount};

/// What a count means, for the exposition's help lines.
fn help(name: &str) -> &'static str {
    match name {
        "surefoot.dependency.calls" => "Calls of services, by how they ended",
        "surefoot.dependency.call.duration" => "How long calls of services took in all",
        "surefoot.dependency.attempts.failed" => "Sends that failed",
        "surefoot.dependency.rejections" => "Calls turned away before anything was sent",
        "surefoot.dependency.retries" => "Further sends within a call",
        "surefoot.dependency.retries.suppressed" => "Failed calls, by why no further send followed",
        "surefoot.dependency.breaker.changes" => "Changes of breakers, by the state they led to",
        "surefoot.dependency.gate.closed" => "Times that a service asked to be left alone",
        _ => "Counted about calls of services",
    }
}

/// Appends every count, and the state of each breaker.
pub(super) fn write(text: &mut String, dependencies: &dyn Dependencies) -> fmt::Result {
    let mut families: BTreeMap<&'static str, Vec<DependencyCount>> = BTreeMap::new();
    for count in dependencies.counts() {
        families.entry(count.name).or_default().push(count);
    }
    for (name, counts) in families {
        let unit = if name.ends_with(".duration") {
            "_seconds"
        } else {
            ""
        };
        let family = format!("{}{unit}", name.replace('.', "_"));
        writeln!(text, "# HELP {family} {}.", help(name))?;
        writeln!(text, "# TYPE {family} counter")?;
        if !unit.is_empty() {
            writeln!(text, "# UNIT {family} seconds")?;
        }
        for count in counts {
            let dependency = escaped(&count.dependency);
            let (label, word) = count.label;
            let more = if label.is_empty() {
                String::new()
            } else {
                format!(",{}=\"{}\"", label.replace('.', "_"), escaped(word))
            };
            writeln!(
                text,
                "{family}_total{{dependency=\"{dependency}\"{more}}} {}",
                count.value
            )?;
        }
    }
    breakers(text, dependencies)
}

fn breakers(text: &mut String, dependencies: &dyn Dependencies) -> fmt::Result {
    const NAME: &str = "surefoot_dependency_breaker_state";
    let views = dependencies.all();
    if views.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "# HELP {NAME} 1 for the state that each breaker is in."
    )?;
    writeln!(text, "# TYPE {NAME} gauge")?;
    for view in views {
        let (dependency, state) = (escaped(&view.name), view.breaker.state);
        writeln!(
            text,
            "{NAME}{{dependency=\"{dependency}\",state=\"{state}\"}} 1"
        )?;
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
