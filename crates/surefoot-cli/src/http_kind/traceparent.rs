//! The `traceparent` of a call, W3C Trace Context level 1: the attempt's span where spans are exported, else a child
//! of the caller's context. The parts are checked elsewhere; nothing here fails.

use opentelemetry::trace::TraceContextExt;
use surefoot_core::job::TraceContext;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The header's value for a call made in the present span on behalf of a job with this context.
pub(super) fn traceparent(caller: Option<&TraceContext>) -> String {
    let context = tracing::Span::current().context();
    let span = context.span().span_context().clone();
    if span.is_valid() {
        return format!(
            "00-{}-{}-{:02x}",
            span.trace_id(),
            span.span_id(),
            span.trace_flags().to_u8()
        );
    }
    child_of(caller, random_128(), random_64())
}

/// A child of `caller`, or the root of a trace of its own that nobody asked to record.
fn child_of(caller: Option<&TraceContext>, trace: u128, span: u64) -> String {
    let parts = caller.map(|context| context.as_str().split('-').collect::<Vec<_>>());
    match parts.as_deref() {
        Some([version, trace, _, flags]) => format!("{version}-{trace}-{span:016x}-{flags}"),
        Some(_) | None => format!("00-{trace:032x}-{span:016x}-00"),
    }
}

fn random_128() -> u128 {
    fastrand::u128(1..)
}

fn random_64() -> u64 {
    fastrand::u64(1..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_child_of_the_callers_trace() {
        let caller =
            TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        assert_eq!(
            child_of(Some(&caller), 5, 0xab),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ab-01"
        );
        assert_eq!(
            child_of(None, 5, 0xab),
            format!("00-{:032x}-00000000000000ab-00", 5)
        );
    }

    #[test]
    fn without_any_context_a_trace_of_its_own_begins() {
        let value = traceparent(None);
        assert!(TraceContext::parse(&value).is_some(), "{value}");
        assert_ne!(value, traceparent(None));
    }
}
