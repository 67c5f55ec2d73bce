//! Pages of requests, by id and not by offset, and which one a path names.

use serde::{Deserialize, Serialize};
use surefoot_core::id::Tenant;
use surefoot_core::port::{RequestFilter, RequestHead};
use surefoot_core::request::{Identity, RequestId, RequestKey, RequestStateName};
use utoipa::{IntoParams, ToSchema};

use super::page::{limit, parsed};
use super::request::RequestSummary;
use super::word::RequestStateWord;
use crate::problem::Problem;

/// Which requests to show; every parameter that is set must match.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RequestPageQuery {
    /// How many requests, 1 to 200. Default 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// Requests before this one: `next` of the page before.
    #[param(format = "uuid")]
    before: Option<String>,
    /// In this state.
    #[param(inline, value_type = Option<RequestStateWord>)]
    state: Option<String>,
    /// Of this tenant.
    tenant: Option<String>,
    /// With this key, of any tenant.
    key: Option<String>,
}

/// A checked query.
pub(crate) struct RequestsWanted {
    pub(crate) filter: RequestFilter,
    pub(crate) before: Option<RequestId>,
    pub(crate) limit: u32,
}

impl RequestPageQuery {
    pub(crate) fn into_wanted(self) -> Result<RequestsWanted, Problem> {
        let limit = limit(self.limit)?;
        let state = |text: String| {
            let words = || {
                RequestStateName::ALL
                    .map(RequestStateName::as_str)
                    .join(", ")
            };
            RequestStateName::parse(&text)
                .ok_or_else(|| format!("state is {text:?}, give one of {}", words()))
        };
        Ok(RequestsWanted {
            filter: RequestFilter {
                tenant: parsed("tenant", self.tenant, Tenant::new)?,
                key: parsed("key", self.key, RequestKey::new)?,
                state: parsed("state", self.state, state)?,
            },
            before: parsed("before", self.before, |text| text.parse::<RequestId>())?,
            limit,
        })
    }
}

/// Whose request a path names: a key counts within one tenant.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TenantQuery {
    /// Whose it is. Default `default`, the one tenant of a front door that tells none apart.
    tenant: Option<String>,
}

impl TenantQuery {
    pub(crate) fn identity(self, key: RequestKey) -> Result<Identity, Problem> {
        let tenant = parsed("tenant", self.tenant, Tenant::new)?;
        Ok(Identity {
            tenant: tenant.unwrap_or_else(Tenant::single),
            key,
        })
    }
}

/// A page of requests, the latest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct RequestPage {
    /// The requests.
    requests: Vec<RequestSummary>,
    /// What to give as `before` for the next page; `null` on the last one.
    #[schema(required, format = "uuid")]
    next: Option<String>,
}

impl RequestPage {
    /// The first `limit` of `heads`; that there are more says that there is a next page.
    pub(crate) fn new(heads: &[RequestHead], limit: u32) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let shown = &heads[..heads.len().min(limit)];
        let last = shown.last().filter(|_| heads.len() > limit);
        Self {
            requests: shown.iter().map(RequestSummary::from).collect(),
            next: last.map(|head| head.id.to_string()),
        }
    }
}
