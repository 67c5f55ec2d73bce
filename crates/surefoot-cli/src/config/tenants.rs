//! Whose a request is, as `[proxy]` or the command line say it. A tenant comes from an identity that somebody verified;
//! one tenant for all is for a proxy that only its own machine reaches.

use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderName;
use surefoot_core::id::Tenant;
use surefoot_http::{
    BearerTenants, SingleTenant, TOKEN_BYTES_MIN, Tenants, TokenRefused, TrustedHeader,
};

use super::environment::{self, Environment};
use super::section::{Field, Section};

/// Whose a request is.
#[derive(Clone, PartialEq)]
pub(crate) enum TenantKeys {
    /// All of them are this one's.
    One(Tenant),
    /// By bearer token. A tenant may have several.
    Tokens(Vec<(Tenant, String)>),
    /// By a header that these peers write.
    Header(HeaderName, Vec<IpAddr>),
}

impl std::fmt::Debug for TenantKeys {
    /// Without the tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One(tenant) => f.debug_tuple("One").field(tenant).finish(),
            Self::Tokens(tokens) => {
                let tenants = tokens.iter().map(|(tenant, _)| tenant);
                f.debug_list().entries(tenants).finish()
            }
            Self::Header(name, peers) => f.debug_tuple("Header").field(name).field(peers).finish(),
        }
    }
}

impl Default for TenantKeys {
    fn default() -> Self {
        Self::One(Tenant::single())
    }
}

impl TenantKeys {
    /// What tells a guard whose a request is.
    ///
    /// # Errors
    /// The first token that is refused.
    pub(crate) fn tenants(&self) -> Result<Arc<dyn Tenants>, TokenRefused> {
        Ok(match self {
            Self::One(tenant) => Arc::new(SingleTenant(tenant.clone())),
            Self::Tokens(tokens) => {
                let tokens = tokens.iter();
                let tokens = tokens.map(|(tenant, token)| (token.as_str(), tenant.clone()));
                Arc::new(BearerTenants::new(tokens)?)
            }
            Self::Header(name, peers) => Arc::new(TrustedHeader {
                name: name.clone(),
                peers: peers.clone(),
            }),
        })
    }

    /// In words, for people: never with a token.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::One(tenant) => format!("one for all, {tenant}"),
            Self::Tokens(tokens) => {
                let mut names: Vec<_> = tokens
                    .iter()
                    .map(|(tenant, _)| tenant.to_string())
                    .collect();
                names.sort();
                names.dedup();
                format!("by bearer token: {}", names.join(", "))
            }
            Self::Header(name, peers) => {
                let peers: Vec<_> = peers.iter().map(ToString::to_string).collect();
                format!("by the header {name} of {}", peers.join(", "))
            }
        }
    }
}

/// Reads `tenant`, `tenant_tokens`, or `tenant_header` with `trusted_proxies`; the outer `None` when one is wrong.
pub(super) fn read(
    section: &Section<'_>,
    environment: Environment<'_>,
) -> Option<Option<TenantKeys>> {
    let one = section.text("tenant").check(section.faults, Tenant::new);
    let tokens = tokens(section, environment);
    let header = section.text("tenant_header").check(section.faults, |name| {
        HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("{name:?} is no name of a header; use letters, digits and -"))
    });
    let peers = peers(section);
    let given = [one.span(), tokens.span(), header.span()];
    if let Some(second) = given.into_iter().flatten().nth(1) {
        section.faults.note(
            second,
            "tenants are told apart in two ways",
            "keep one of tenant, tenant_tokens and tenant_header",
        );
        return None;
    }
    match (&header, &peers) {
        (Field::Given(_, span), Field::Absent) => {
            section.faults.note(
                span.clone(),
                "tenant_header is believed from nobody",
                "add the addresses of the proxies that write it: trusted_proxies = [\"10.0.0.7\"]",
            );
            return None;
        }
        (Field::Absent, Field::Given(_, span)) => {
            section.faults.note(
                span.clone(),
                "trusted_proxies are named and no header that they write",
                "add tenant_header = \"x-tenant\", or remove trusted_proxies",
            );
            return None;
        }
        _ => {}
    }
    let (one, tokens, header, peers) = (
        one.optional()?,
        tokens.optional()?,
        header.optional()?,
        peers.optional()?,
    );
    Some(
        one.map(TenantKeys::One)
            .or(tokens.map(TenantKeys::Tokens))
            .or(header.map(|name| TenantKeys::Header(name, peers.unwrap_or_default()))),
    )
}

/// `tenant_tokens = { NAME = "TOKEN", OTHER = ["NEW", "OLD"] }`.
fn tokens(section: &Section<'_>, environment: Environment<'_>) -> Field<Vec<(Tenant, String)>> {
    let Some(value) = section.value("tenant_tokens") else {
        return Field::Absent;
    };
    let Some(table) = section.section("tenant_tokens") else {
        return Field::Faulty;
    };
    let (entries, mut sound) = table.entry_lists();
    let mut tokens: Vec<(Tenant, String)> = Vec::new();
    for entry in entries {
        match (Tenant::new(entry.name), token(entry.text, environment)) {
            (Ok(tenant), Ok(token)) => {
                let alone = BearerTenants::new([(token.as_str(), tenant.clone())]).err();
                let shared = tokens
                    .iter()
                    .find(|(other, known)| *known == token && *other != tenant)
                    .map(|(other, _)| TokenRefused::Shared(other.clone(), tenant.clone()));
                if let Some(refusal) = alone.or(shared) {
                    sound = false;
                    let refusal = refusal.to_string();
                    section.faults.note_text(entry.text_span.clone(), &refusal);
                } else {
                    tokens.push((tenant, token));
                }
            }
            (name, token) => {
                sound = false;
                if let Err(refusal) = name {
                    let refusal = refusal.to_string();
                    section.faults.note_text(entry.name_span.clone(), &refusal);
                }
                if let Err(refusal) = token {
                    section.faults.note_text(entry.text_span.clone(), &refusal);
                }
            }
        }
    }
    if sound && tokens.is_empty() {
        section.faults.note(
            value.span(),
            "tenant_tokens names no tenant, so nobody could use a key",
            "add one, such as { acme = \"${ACME_TOKEN}\" }, or remove it",
        );
        sound = false;
    }
    if sound {
        Field::Given(tokens, value.span())
    } else {
        Field::Faulty
    }
}

fn token(text: &str, environment: Environment<'_>) -> Result<String, String> {
    let token = environment::fill(text, environment).map_err(|refusal| refusal.to_string())?;
    if token.len() < TOKEN_BYTES_MIN {
        return Err(format!(
            "the token is shorter than {TOKEN_BYTES_MIN} bytes; make one with: openssl rand -hex 24"
        ));
    }
    Ok(token)
}

fn peers(section: &Section<'_>) -> Field<Vec<IpAddr>> {
    section
        .texts("trusted_proxies")
        .check(section.faults, |list| {
            if list.is_empty() {
                return Err(
                    "trusted_proxies is empty; name the addresses of the proxies".to_owned(),
                );
            }
            let address = |(text, _): &(&str, _)| {
                text.parse()
                    .map_err(|_| format!("{text:?} is no IP address; write for example 10.0.0.7"))
            };
            list.iter().map(address).collect()
        })
}
