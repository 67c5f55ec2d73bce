//! Ten lines around a reqwest call. `cargo run -p surefoot-policy --features reqwest --example call -- http://127.0.0.1:8080/`

use surefoot_policy::{Dependency, Meta, Policy};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "http://127.0.0.1:8080/".to_owned());
    let dependency = Dependency::new("prices", Policy::default())?;
    println!("{}", dependency.policy().explain());

    // reqwest is built without a TLS provider; whoever builds the program chooses one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = &reqwest::Client::builder()
        .timeout(dependency.policy().timeout.attempt)
        .build()?;
    let answer = dependency
        .call(&Meta::idempotent(), |attempt| {
            let mut request = client.get(&url);
            let mut headers = http::HeaderMap::new();
            if attempt.write_headers(&mut headers) {
                request = request.headers(headers);
            }
            async move { request.send().await?.error_for_status() }
        })
        .await;
    match answer {
        Ok(answer) => println!("{}: {}", answer.status(), answer.text().await?),
        Err(error) => {
            println!("{error}");
            for attempt in error.attempts() {
                println!(
                    "  attempt {}: {:?} after {:?}, {}",
                    attempt.number, attempt.kind, attempt.took, attempt.certainty
                );
            }
        }
    }
    Ok(())
}
