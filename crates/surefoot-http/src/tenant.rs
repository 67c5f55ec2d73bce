//! Whose request it is. A tenant comes from an identity that somebody verified, never from what a client merely says; where
//! there is none the request is refused, for two strangers under one tenant would read one another's answers.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::ConnectInfo;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};
use surefoot_core::id::Tenant;

/// The fewest bytes of a bearer token.
pub const TOKEN_BYTES_MIN: usize = 16;

/// Where the tenant of a request comes from.
pub trait Tenants: Send + Sync + 'static {
    /// Whose request this is, by its head and by what earlier layers put into its extensions.
    ///
    /// # Errors
    /// Why nobody knows.
    fn tenant(&self, head: &Parts) -> Result<Tenant, TenantRefused>;

    /// Whether strangers can be told apart, so that other machines may be served.
    fn is_verified(&self) -> bool {
        true
    }
}

impl<T: Tenants + ?Sized> Tenants for Arc<T> {
    fn tenant(&self, head: &Parts) -> Result<Tenant, TenantRefused> {
        (**self).tenant(head)
    }

    fn is_verified(&self) -> bool {
        (**self).is_verified()
    }
}

/// Why it is not known whose request it is. The text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TenantRefused {
    /// It carries no identity.
    #[error("the request carries no verified identity, and a key counts only within one")]
    Missing,
    /// Its identity is not known here.
    #[error("the identity of the request is not known here")]
    NotKnown,
    /// It comes from another machine, and only this one is served without an identity.
    #[error("only requests of the same machine are served without a verified identity")]
    NotLoopback,
}

/// One tenant for everybody, for services that only their own machine reaches: a peer that is known to be another one is
/// refused. Where the peer is not known (no `ConnectInfo`) it is up to the listener.
#[derive(Clone, Debug)]
pub struct SingleTenant(pub Tenant);

impl Tenants for SingleTenant {
    fn tenant(&self, head: &Parts) -> Result<Tenant, TenantRefused> {
        match peer(head) {
            Some(peer) if !peer.is_loopback() => Err(TenantRefused::NotLoopback),
            Some(_) | None => Ok(self.0.clone()),
        }
    }

    fn is_verified(&self) -> bool {
        false
    }
}

/// The tenant that an earlier layer verified and put into the request's extensions as a [`Tenant`]: from a session, a
/// signed token or a client certificate.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionTenant;

impl Tenants for ExtensionTenant {
    fn tenant(&self, head: &Parts) -> Result<Tenant, TenantRefused> {
        let found = head.extensions.get::<Tenant>();
        found.cloned().ok_or(TenantRefused::Missing)
    }
}

/// The tenant whose bearer token the request carries. Only digests are held; each is compared in a time that tells
/// nothing.
#[derive(Clone)]
pub struct BearerTenants(Vec<([u8; 32], Tenant)>);

/// A token that cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefused {
    /// It could be guessed.
    #[error(
        "the token of tenant {0} is shorter than {TOKEN_BYTES_MIN} bytes; make one with: openssl rand -hex 24"
    )]
    TooShort(Tenant),
    /// No header can carry it: a line break at the end of a secret's file is one.
    #[error(
        "the token of tenant {0} holds a space, a line break or another character that no token has; remove it"
    )]
    Character(Tenant),
    /// Each would get the other's answers.
    #[error("the tenants {0} and {1} have the same token; give each its own")]
    Shared(Tenant, Tenant),
}

impl BearerTenants {
    /// Tenants by token. A tenant may have several, so that one can be replaced by the next.
    ///
    /// # Errors
    /// The first token that is refused.
    pub fn new<'a>(
        tokens: impl IntoIterator<Item = (&'a str, Tenant)>,
    ) -> Result<Self, TokenRefused> {
        let mut all: Vec<([u8; 32], Tenant)> = Vec::new();
        for (token, tenant) in tokens {
            if token.len() < TOKEN_BYTES_MIN {
                return Err(TokenRefused::TooShort(tenant));
            }
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(TokenRefused::Character(tenant));
            }
            let digest = Sha256::digest(token.as_bytes()).into();
            let other = |(known, other): &&([u8; 32], Tenant)| *known == digest && *other != tenant;
            if let Some((_, other)) = all.iter().find(other) {
                return Err(TokenRefused::Shared(other.clone(), tenant));
            }
            all.push((digest, tenant));
        }
        Ok(Self(all))
    }
}

impl fmt::Debug for BearerTenants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenants = self.0.iter().map(|(_, tenant)| tenant);
        f.debug_list().entries(tenants).finish()
    }
}

impl Tenants for BearerTenants {
    fn tenant(&self, head: &Parts) -> Result<Tenant, TenantRefused> {
        let mut sent = head.headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else {
            return Err(TenantRefused::Missing);
        };
        let token = bearer(value).ok_or(TenantRefused::Missing)?;
        let presented: [u8; 32] = Sha256::digest(token).into();
        let mut found = None;
        for (digest, tenant) in &self.0 {
            let fits: Choice = digest.ct_eq(&presented);
            if bool::from(fits) {
                found = Some(tenant);
            }
        }
        found.cloned().ok_or(TenantRefused::NotKnown)
    }
}

/// The tenant that a proxy in front verified and wrote into a header. Only the named peers are believed; from anybody else
/// the header means nothing.
#[derive(Clone, Debug)]
pub struct TrustedHeader {
    /// The header, which the proxy overwrites whatever the client sent.
    pub name: HeaderName,
    /// The addresses of the proxies.
    pub peers: Vec<IpAddr>,
}

impl Tenants for TrustedHeader {
    fn tenant(&self, head: &Parts) -> Result<Tenant, TenantRefused> {
        match peer(head) {
            Some(peer) if self.peers.contains(&peer) => {}
            Some(_) | None => return Err(TenantRefused::Missing),
        }
        let mut sent = head.headers.get_all(&self.name).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else {
            return Err(TenantRefused::Missing);
        };
        let text = value.to_str().map_err(|_| TenantRefused::NotKnown)?;
        Tenant::new(text).map_err(|_| TenantRefused::NotKnown)
    }
}

/// The address of whoever opened the connection, where the listener says so.
fn peer(head: &Parts) -> Option<IpAddr> {
    let info = head.extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(info.0.ip().to_canonical())
}

fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    let fits = scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty();
    fits.then_some(token)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    fn head(headers: &[(&'static str, &'static str)], from: Option<&str>) -> Parts {
        let mut head = Request::new(()).into_parts().0;
        for (name, value) in headers {
            head.headers.append(*name, HeaderValue::from_static(value));
        }
        if let Some(from) = from {
            let from: SocketAddr = from.parse().unwrap();
            head.extensions.insert(ConnectInfo(from));
        }
        head
    }

    #[test]
    fn one_tenant_for_everybody_is_for_one_machine() {
        let single = SingleTenant(tenant("me"));
        assert!(!single.is_verified());
        for (from, expected) in [
            (None, Ok(tenant("me"))),
            (Some("127.0.0.1:9"), Ok(tenant("me"))),
            (Some("[::ffff:127.0.0.1]:9"), Ok(tenant("me"))),
            (Some("192.168.1.2:9"), Err(TenantRefused::NotLoopback)),
        ] {
            assert_eq!(single.tenant(&head(&[], from)), expected, "{from:?}");
        }
    }

    #[test]
    fn a_bearer_token_names_its_tenant_and_nothing_else_does() {
        let tokens = [
            ("0123456789abcdef", tenant("a")),
            ("fedcba9876543210", tenant("b")),
        ];
        let bearer = BearerTenants::new(tokens).unwrap();
        let table: [(&[(&str, &str)], _); 7] = [
            (
                &[("authorization", "Bearer 0123456789abcdef")],
                Ok(tenant("a")),
            ),
            (
                &[("authorization", "bearer fedcba9876543210")],
                Ok(tenant("b")),
            ),
            (
                &[("authorization", "Bearer 0123456789abcdeF")],
                Err(TenantRefused::NotKnown),
            ),
            (
                &[("authorization", "Basic 0123456789abcdef")],
                Err(TenantRefused::Missing),
            ),
            (&[("authorization", "Bearer ")], Err(TenantRefused::Missing)),
            (&[], Err(TenantRefused::Missing)),
            (
                &[
                    ("authorization", "Bearer 0123456789abcdef"),
                    ("authorization", "Bearer fedcba9876543210"),
                ],
                Err(TenantRefused::Missing),
            ),
        ];
        for (headers, expected) in table {
            assert_eq!(bearer.tenant(&head(headers, None)), expected, "{headers:?}");
        }
        assert_eq!(format!("{bearer:?}").matches("0123").count(), 0);
    }

    /// Two tenants with one token would be one tenant, and each would read the other's answers.
    #[test]
    fn a_token_that_cannot_tell_tenants_apart_is_refused() {
        let token = "0123456789abcdef";
        let (a, b) = (tenant("a"), tenant("b"));
        let table = [
            (
                vec![("short", a.clone())],
                TokenRefused::TooShort(a.clone()),
            ),
            (
                vec![("0123456789abcdef\n", a.clone())],
                TokenRefused::Character(a.clone()),
            ),
            (
                vec![(token, a.clone()), (token, b.clone())],
                TokenRefused::Shared(a.clone(), b),
            ),
        ];
        for (tokens, expected) in table {
            assert_eq!(BearerTenants::new(tokens).err(), Some(expected));
        }
        assert!(BearerTenants::new([(token, a.clone()), (token, a)]).is_ok());
    }

    #[test]
    fn a_header_is_believed_from_its_proxy_only() {
        let trusted = TrustedHeader {
            name: HeaderName::from_static("x-tenant"),
            peers: vec!["10.0.0.1".parse().unwrap()],
        };
        let sent: &[(&str, &str)] = &[("x-tenant", "a")];
        for (headers, from, expected) in [
            (sent, Some("10.0.0.1:5"), Ok(tenant("a"))),
            (sent, Some("10.0.0.2:5"), Err(TenantRefused::Missing)),
            (sent, None, Err(TenantRefused::Missing)),
            (&[], Some("10.0.0.1:5"), Err(TenantRefused::Missing)),
            (
                &[("x-tenant", "a b")],
                Some("10.0.0.1:5"),
                Err(TenantRefused::NotKnown),
            ),
        ] {
            assert_eq!(trusted.tenant(&head(headers, from)), expected, "{from:?}");
        }
    }

    #[test]
    fn a_tenant_that_a_layer_verified_is_taken() {
        let mut head = head(&[], None);
        assert_eq!(ExtensionTenant.tenant(&head), Err(TenantRefused::Missing));
        head.extensions.insert(tenant("a"));
        assert_eq!(ExtensionTenant.tenant(&head), Ok(tenant("a")));
    }
}
