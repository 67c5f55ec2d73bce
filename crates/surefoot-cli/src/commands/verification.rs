//! Asks about each request where its route says. A request of a route that the configuration does not know any more is
//! asked about where all others are.

use async_trait::async_trait;
use surefoot_core::request::{Operation, Request, RequestVerdict};
use surefoot_http::{AskNobody, Reconcile, VerifyByUrl};

use crate::config::{ProxySection, RouteEntry, RouteKeys};

/// Asks by route.
pub(super) struct ByRoute {
    routes: Vec<(RouteEntry, Option<VerifyByUrl>)>,
    other: Option<VerifyByUrl>,
}

impl ByRoute {
    /// What the section says.
    ///
    /// # Errors
    /// An address that nobody can be asked at, in words.
    pub(super) fn new(section: &ProxySection) -> Result<Self, String> {
        let hook = |keys: &RouteKeys| match &keys.verify {
            None => Ok(None),
            Some(uri) => keys
                .verification(section.upstream_timeout())
                .map(Some)
                .ok_or_else(|| format!("verify {uri} is no http:// address")),
        };
        let routes = section.entries().map(|entry| {
            let hook = hook(&entry.keys)?;
            Ok((entry, hook))
        });
        Ok(Self {
            routes: routes.collect::<Result<_, String>>()?,
            other: hook(&section.all)?,
        })
    }

    fn of(&self, operation: &Operation) -> Option<&VerifyByUrl> {
        let is_of = |entry: &RouteEntry| {
            entry.path == operation.route()
                && entry
                    .method
                    .as_ref()
                    .is_none_or(|method| method.as_str() == operation.method())
        };
        let found = self.routes.iter().find(|(entry, _)| is_of(entry));
        found.map_or(self.other.as_ref(), |(_, hook)| hook.as_ref())
    }
}

#[async_trait]
impl Reconcile for ByRoute {
    async fn ask(&self, request: &Request) -> RequestVerdict {
        match self.of(&request.operation) {
            Some(hook) => hook.ask(request).await,
            None => AskNobody.ask(request).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, Uri};

    use super::*;

    fn keys(verify: Option<&'static str>) -> RouteKeys {
        RouteKeys {
            verify: verify.map(Uri::from_static),
            ..RouteKeys::default()
        }
    }

    fn entry(method: Option<Method>, path: &str, verify: Option<&'static str>) -> RouteEntry {
        RouteEntry {
            method,
            path: path.to_owned(),
            keys: keys(verify),
        }
    }

    #[test]
    fn each_request_is_asked_about_where_its_route_says() {
        let section = ProxySection {
            all: keys(Some("http://127.0.0.1:1/all")),
            routes: vec![
                entry(
                    Some(Method::POST),
                    "/a/{id}",
                    Some("http://127.0.0.1:1/post"),
                ),
                entry(None, "/a/{id}", None),
                entry(None, "/b", Some("http://127.0.0.1:1/b")),
            ],
            ..ProxySection::default()
        };
        let by_route = ByRoute::new(&section).unwrap();
        for (method, route, expected) in [
            ("POST", "/a/{id}", "post"),
            ("PUT", "/a/{id}", "all"),
            ("PUT", "/b", "b"),
            ("POST", "*", "all"),
            ("POST", "/no/longer/there", "all"),
        ] {
            let operation = Operation::new(method, route).unwrap();
            let asked = format!("{:?}", by_route.of(&operation));
            assert!(
                asked.contains(&format!("127.0.0.1:1/{expected}")),
                "{operation}: {asked}"
            );
        }
        let nobody = ByRoute::new(&ProxySection::default()).unwrap();
        let operation = Operation::new("POST", "*").unwrap();
        assert!(nobody.of(&operation).is_none());
    }
}
