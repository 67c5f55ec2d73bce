//! Whose request it is. Keys, orders, exports and points are a customer's own: who cannot be told from others is not served.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use surefoot::core::id::Tenant;
use surefoot_http::{BearerTenants, SingleTenant, Tenants};

use crate::Fault;
use crate::refused::Refused;

/// Who the customers are: by their tokens, or everybody on this machine as one where there are none.
///
/// # Errors
/// A name or a token that cannot be one.
pub fn known(tokens: &[(String, String)]) -> Result<Arc<dyn Tenants>, Fault> {
    if tokens.is_empty() {
        return Ok(Arc::new(SingleTenant(Tenant::single())));
    }
    let mut customers = Vec::new();
    for (name, token) in tokens {
        customers.push((token.as_str(), Tenant::new(name)?));
    }
    Ok(Arc::new(BearerTenants::new(customers)?))
}

/// Says to everything inside whose request it is: to the front door (`ExtensionTenant`) and to the handlers alike.
pub async fn identify(
    State(customers): State<Arc<dyn Tenants>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    match customers.tenant(&head) {
        Ok(customer) => {
            head.extensions.insert(customer);
            next.run(Request::from_parts(head, body)).await
        }
        Err(refused) => Refused(StatusCode::UNAUTHORIZED, refused.to_string()).into_response(),
    }
}
