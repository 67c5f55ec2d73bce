//! The tower layer around a hyper client.
//! `cargo run -p surefoot-policy --features http-client --example layer -- http://127.0.0.1:8080/`

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use surefoot_policy::layer::{HttpPlan, Protect};
use surefoot_policy::{Dependency, Policy};
use tower::{ServiceBuilder, ServiceExt};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "http://127.0.0.1:8080/".to_owned());
    let dependency = Dependency::new("charges", Policy::default())?;

    // Whether a request is sent again is decided by the policy alone.
    let hyper = Client::builder(TokioExecutor::new())
        .retry_canceled_requests(false)
        .build_http::<Full<Bytes>>();
    // This service takes effect once under one key, so a charge may be repeated.
    let service = ServiceBuilder::new()
        .layer(Protect::new(dependency.clone(), HttpPlan::deduplicating()))
        .service(hyper);

    let request = http::Request::post(&url)
        .header("idempotency-key", "order-42")
        .body(Full::from("amount=500"))?;
    match service.oneshot(request).await {
        Ok(answer) => {
            println!("{}", answer.status());
            println!("{:?}", answer.into_body().collect().await?.to_bytes());
        }
        Err(error) => println!("{error}"),
    }
    println!("{:#?}", dependency.status());
    Ok(())
}
