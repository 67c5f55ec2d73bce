//! What the handler knows of its request, and what the caller said of time and retries.

use axum::body::Body;
use http::Request;
use surefoot_core::id::DependencyName;
use surefoot_http::{RequestContext, RoutePolicy};
use surefoot_policy::context::Ambient;

use crate::fixture::{answer, front, post, seconds};

#[tokio::test(start_paused = true)]
async fn a_handler_has_a_key_for_each_dependency_and_the_callers_trace() {
    let front = front(
        RoutePolicy::default(),
        |request: Request<Body>| async move {
            let context = request.extensions().get::<RequestContext>().unwrap();
            let psp = DependencyName::new("psp").unwrap();
            let here = RequestContext::current().unwrap();
            assert_eq!(here.key_for(&psp), context.key_for(&psp));
            assert_eq!(
                (context.tenant().as_str(), context.key().as_str()),
                ("me", "k")
            );
            answer(
                200,
                format!(
                    "{} {}",
                    context.key_for(&psp),
                    context.trace().unwrap().as_str()
                ),
            )
        },
    );
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut request = post("k", "{}");
    request
        .headers_mut()
        .insert("traceparent", trace.parse().unwrap());
    let got = front.ask(request).await;
    let text = String::from_utf8(got.body.to_vec()).unwrap();
    let (key, traced) = text.split_once(' ').unwrap();
    assert_eq!(traced, trace);
    let id = surefoot_core::request::RequestId::of_downstream(key).unwrap();
    use surefoot_core::port::Requests as _;
    assert!(front.store.request_by_id(id).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_call_and_a_job_carry_the_key_of_the_request_and_its_trace() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let front = front(RoutePolicy::default(), |_| async {
        let context = RequestContext::current().unwrap();
        let (psp, refund) = (
            DependencyName::new("psp").unwrap(),
            DependencyName::new("psp.refund").unwrap(),
        );
        let mut headers = http::HeaderMap::new();
        context.write(&psp, &mut headers);
        assert_eq!(headers["traceparent"], TRACE);
        assert_eq!(
            headers["idempotency-key"],
            format!("\"{}\"", context.key_for(&psp))
        );
        assert_ne!(context.key_for(&psp), context.key_for(&refund));
        // What a protected call knows of it, where the service honours keys: it may be sent again.
        let call = Request::post("http://psp/charges").body(()).unwrap();
        let (mut head, ()) = call.into_parts();
        head.headers = headers;
        let call = Request::from_parts(head, ());
        let plan = surefoot_policy::layer::HttpPlan::deduplicating();
        let meta = surefoot_policy::layer::Plan::<_, http::Response<()>, std::io::Error>::meta(
            &plan, &call,
        );
        assert!(meta.is_repeatable());
        let kind = surefoot_core::id::Kind::new("mail").unwrap();
        let payload = surefoot_core::payload::Payload::null();
        let intent = context
            .intent(surefoot::Intent::new(kind, payload))
            .unwrap();
        assert_eq!(intent.tenant, *context.tenant());
        assert_eq!(intent.trace.unwrap().as_str(), TRACE);
        answer(200, intent.key.unwrap().to_string())
    });
    let mut request = post("k", "{}");
    let headers = request.headers_mut();
    headers.insert("traceparent", TRACE.parse().unwrap());
    let got = front.ask(request).await;
    let key = String::from_utf8(got.body.to_vec()).unwrap();
    let id = surefoot_core::request::RequestId::of_downstream(&key);
    assert!(id.is_some(), "readable back to the request: {key}");
}

#[tokio::test(start_paused = true)]
async fn the_handler_inherits_deadline_and_retry_owner() {
    for keyed in [true, false] {
        let front = front(RoutePolicy::default(), |_| async {
            let ambient = Ambient::current();
            answer(
                200,
                format!(
                    "{} {:?}",
                    ambient.deadline.is_some(),
                    ambient.outer.map(|outer| outer.attempt)
                ),
            )
        });
        let mut request = post("k", "{}");
        if !keyed {
            request.headers_mut().remove("idempotency-key");
        }
        for (name, value) in [
            ("grpc-timeout", "2S"),
            ("x-retry-owner", "gateway"),
            ("x-retry-attempt", "2"),
        ] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        assert_eq!(front.ask(request).await.body, "true Some(2)");
    }
}

#[tokio::test(start_paused = true)]
async fn no_time_left_and_no_sense_are_told_before_anything_runs() {
    let front = front(RoutePolicy::default(), |_| async { answer(200, "") });
    for (name, value, expected) in [
        (
            "x-request-timeout-ms",
            "0",
            (504, None, Some("deadline-passed")),
        ),
        ("grpc-timeout", "5", (400, None, Some("context-malformed"))),
    ] {
        let mut request = post("k", "{}");
        request.headers_mut().insert(name, value.parse().unwrap());
        assert_eq!(front.ask(request).await.marks(), expected);
    }
    assert_eq!((front.ran(), front.state("k").await), (0, None));
}

#[tokio::test(start_paused = true)]
async fn bodies_are_bounded_in_size_and_time() {
    let policy = RoutePolicy {
        body_bytes_max: 10,
        ..RoutePolicy::default()
    };
    let front = front(policy, |_| async { answer(200, "") });
    assert_eq!(
        front.ask(post("k", "01234567890")).await.marks(),
        (413, None, Some("body-too-large"))
    );
    assert_eq!(front.ask(post("k", "0123456789")).await.status, 200);
    let never = futures_util::stream::pending::<Result<bytes::Bytes, std::io::Error>>();
    let broken =
        futures_util::stream::iter([Err::<bytes::Bytes, _>(std::io::Error::other("gone"))]);
    let endless = futures_util::stream::repeat_with(|| {
        Ok::<_, std::io::Error>(bytes::Bytes::from_static(b"x"))
    });
    let began = tokio::time::Instant::now();
    for (body, expected) in [
        (Body::from_stream(never), (408, "body-timeout")),
        (Body::from_stream(broken), (400, "body-broken")),
        (Body::from_stream(endless), (413, "body-too-large")),
    ] {
        let request = Request::post("/payments")
            .header("idempotency-key", "other")
            .body(body)
            .unwrap();
        let got = front.ask(request).await;
        assert_eq!(
            (got.status.as_u16(), got.header("idempotency-error")),
            (expected.0, Some(expected.1))
        );
    }
    assert_eq!(began.elapsed(), seconds(30));
    assert_eq!((front.ran(), front.state("other").await), (1, None));
}
