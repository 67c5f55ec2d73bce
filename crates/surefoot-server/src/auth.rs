//! Who calls. With tokens configured a request needs one; without any, everybody who reaches the server may do
//! everything, and [`crate::origin`] and [`crate::listen`] see to it that only this machine does.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use std::convert::Infallible;

use crate::problem::{Problem, kind};
use crate::state::App;
use crate::token;

/// Who calls: the name of the token, where tokens are configured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caller {
    pub(crate) token: Option<String>,
}

/// Lets requests with a valid token through, and all of them where no token is configured.
pub(crate) async fn authenticate(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = identify(&app, &request)?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

fn identify(app: &App, request: &Request) -> Result<Caller, Problem> {
    if app.tokens().is_empty() {
        return Ok(Caller::default());
    }
    let header = request.headers().get(AUTHORIZATION);
    let refused = |detail: &str| Problem::new(&kind::UNAUTHORIZED, detail);
    let header = header.ok_or_else(|| refused("the request has no Authorization header"))?;
    let secret = bearer(header.as_bytes())
        .ok_or_else(|| refused("the Authorization header holds no bearer token"))?;
    let token = token::find(app.tokens(), secret)
        .ok_or_else(|| refused("the token is not one of this server's"))?;
    Ok(Caller {
        token: Some(token.name().to_owned()),
    })
}

/// The secret of `Bearer SECRET`; the scheme's case does not matter (RFC 9110, section 11.1).
fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, secret) = header.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| secret.trim_ascii())
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
