//! Hears everything that happens on this node: it counts, logs what a person should know, and gives each attempt its
//! span.

use std::sync::Arc;

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use surefoot::{Event, Observer};
use surefoot_core::job::{AttemptOutcome, LeasedJob, TraceContext};
use surefoot_server::Metrics;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::meters::Meters;

/// The observer of a serving node.
pub(crate) struct NodeObserver {
    metrics: Arc<Metrics>,
    meters: Meters,
}

impl NodeObserver {
    /// Counts for `/metrics` and for OTLP.
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics,
            meters: Meters::new(&opentelemetry::global::meter("surefoot")),
        }
    }
}

impl Observer for NodeObserver {
    fn on(&self, event: &Event<'_>) {
        self.metrics.on(event);
        self.meters.on(event);
        log(event);
    }

    /// A span of its own trace, linked to the caller's: a retry hours later would stretch the caller's trace.
    fn attempt_span(&self, job: &LeasedJob) -> Span {
        let span = tracing::info_span!(
            parent: None,
            "job.attempt",
            otel.name = %format_args!("job {}", job.kind),
            otel.kind = "consumer",
            job = %job.id,
            attempt = job.counts.starts,
            epoch = job.state.epoch.0,
            kind = %job.kind,
            queue = %job.queue,
            worker = %job.state.worker,
        );
        if let Some(caller) = job.trace.as_ref().and_then(remote) {
            span.add_link(caller);
        }
        span
    }
}

/// The caller's context as OpenTelemetry knows it.
fn remote(trace: &TraceContext) -> Option<SpanContext> {
    let mut parts = trace.as_str().split('-').skip(1);
    let trace_id = TraceId::from_hex(parts.next()?).ok()?;
    let span_id = SpanId::from_hex(parts.next()?).ok()?;
    let flags = u8::from_str_radix(parts.next()?, 16).ok()?;
    Some(SpanContext::new(
        trace_id,
        span_id,
        TraceFlags::new(flags),
        true,
        TraceState::default(),
    ))
}

/// What the engine does not log itself: attempts that failed, and dead letters that no attempt left.
fn log(event: &Event<'_>) {
    match event {
        Event::AttemptEnded {
            job,
            outcome,
            next,
            took,
        } => {
            let (id, attempt, epoch) = (job.id, job.counts.starts, job.state.epoch);
            let (outcome, next) = (*outcome, next.as_str());
            let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            let kind = &job.kind;
            match outcome {
                AttemptOutcome::Succeeded
                | AttemptOutcome::Released
                | AttemptOutcome::Cancelled => {}
                AttemptOutcome::Transient
                | AttemptOutcome::Permanent
                | AttemptOutcome::TimedOut => {
                    let outcome = outcome.as_str();
                    tracing::info!(job = %id, attempt, %epoch, %kind, outcome, next, ms, "an attempt failed");
                }
                AttemptOutcome::Unknown | AttemptOutcome::Lost => {
                    let outcome = outcome.as_str();
                    tracing::warn!(job = %id, attempt, %epoch, %kind, outcome, next, ms, "nobody knows how an attempt went");
                }
            }
        }
        Event::DeadLetter { .. }
        | Event::StaleWrite { .. }
        | Event::Enqueued { .. }
        | Event::Claimed { .. }
        | Event::LeaseLost { .. }
        | Event::Abandoned { .. }
        | Event::SettlementDropped { .. }
        | Event::EffectVerified { .. }
        | Event::EffectDisputed { .. }
        | Event::EffectNeedsHuman { .. }
        | Event::StoreError { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_context_becomes_a_link() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = remote(&TraceContext::parse(text).unwrap()).unwrap();
        assert!(context.is_valid() && context.is_remote() && context.is_sampled());
        assert_eq!(
            context.trace_id().to_string(),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        assert_eq!(context.span_id().to_string(), "00f067aa0ba902b7");
    }
}
