//! What the guard needs to know of a request before it asks the store: whether it is guarded, whose it is, its key, all
//! of its body, and the fingerprint over these. Nothing has happened while it reads.

use axum::body::Body;
use bytes::Bytes;
use http::Request;
use http::header::{CONTENT_TYPE, EXPECT};
use http::request::Parts;
use surefoot_core::request::{Content, Fingerprint, Identity, NewRequest, Operation, RequestKey};
use surefoot_policy::clock::{Clock as _, TokioClock};
use surefoot_policy::context::{Ambient, headers};

use super::body::{self, Unread};
use super::{BUSY_RETRY_AFTER, Guard};
use crate::mark::{IDEMPOTENCY_KEY, Status};
use crate::problem::{
    BODY_BROKEN, BODY_TIMEOUT, BODY_TOO_LARGE, CONTEXT_MALFORMED, DEADLINE_PASSED, KEY_INVALID,
    KEY_MISSING, Problem, TENANT_UNKNOWN, TOO_BUSY,
};
use crate::route::{Need, RoutePolicy};
use crate::told::Told;

/// What the head of a request says.
pub(super) struct Admission {
    /// What is asked for; `None` where it has no name that could be kept.
    pub(super) operation: Option<Operation>,
    /// What is to be done, and the context that its caller sent.
    pub(super) admitted: Result<(Admitted, Ambient), Problem>,
}

/// What is to be done with a request.
pub(super) enum Admitted {
    /// Serve it without a guard.
    Unguarded {
        request: Box<Request<Body>>,
        status: Option<Status>,
    },
    /// It carries a key that counts.
    Guarded(Box<Keyed>),
}

/// A request with a key, its body not read yet.
pub(super) struct Keyed {
    request: Request<Body>,
    identity: Identity,
    operation: Operation,
    policy: RoutePolicy,
}

/// All that was asked.
pub(super) struct Asked {
    pub(super) new: NewRequest,
    pub(super) policy: RoutePolicy,
    pub(super) head: Parts,
    pub(super) body: Bytes,
}

impl Guard {
    /// Reads the head of a request, and the context that its caller sent.
    pub(super) fn admit(&self, mut request: Request<Body>) -> Admission {
        Told::forget(request.headers_mut());
        let (head, body) = request.into_parts();
        let (route, policy) = self.0.options.routes.of(&head);
        let operation = Operation::new(head.method.as_str(), route);
        let operation = operation.map_err(|error| Problem::new(&KEY_INVALID, error.to_string()));
        match operation {
            Err(problem) => Admission {
                operation: None,
                admitted: Err(problem),
            },
            Ok(operation) => Admission {
                admitted: self.admit_to(operation.clone(), policy, head, body),
                operation: Some(operation),
            },
        }
    }

    fn admit_to(
        &self,
        operation: Operation,
        policy: &RoutePolicy,
        head: Parts,
        body: Body,
    ) -> Result<(Admitted, Ambient), Problem> {
        let now = TokioClock.now();
        let ambient = headers::read(&head.headers, now)
            .map_err(|malformed| Problem::new(&CONTEXT_MALFORMED, malformed.to_string()))?;
        if ambient.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(Problem::new(
                &DEADLINE_PASSED,
                "no time was left when the request arrived; nothing was run",
            ));
        }
        let (policy, has_key) = (policy.clone(), head.headers.contains_key(IDEMPOTENCY_KEY));
        let status = has_key.then_some(Status::Ignored);
        let is_guarded = match policy.need {
            Need::Off => false,
            Need::Optional => has_key && !operation.is_safe(),
            Need::Required => !operation.is_safe(),
        };
        if !is_guarded {
            let request = Box::new(Request::from_parts(head, body));
            return Ok((Admitted::Unguarded { request, status }, ambient));
        }
        let key = key(&head)?;
        let tenant = self.0.tenants.tenant(&head);
        let tenant =
            tenant.map_err(|refused| Problem::new(&TENANT_UNKNOWN, refused.to_string()))?;
        let keyed = Keyed {
            request: Request::from_parts(head, body),
            identity: Identity { tenant, key },
            operation,
            policy,
        };
        Ok((Admitted::Guarded(Box::new(keyed)), ambient))
    }

    /// Reads the body of a request, within the limits of its route.
    pub(super) async fn read(&self, keyed: Box<Keyed>) -> Result<Asked, Problem> {
        let Keyed {
            request,
            identity,
            operation,
            policy,
        } = *keyed;
        let (mut head, body) = request.into_parts();
        let most = policy.body_bytes_max;
        let body = body::read(body, most, policy.body_timeout, &self.0.room)
            .await
            .map_err(|unread| match unread {
                Unread::TooLarge => Problem::new(
                    &BODY_TOO_LARGE,
                    format!("the body has more than {most} bytes; nothing was run"),
                ),
                Unread::TooSlow => Problem::new(
                    &BODY_TIMEOUT,
                    "send it again, under the same key; nothing was run",
                ),
                Unread::Broken => Problem::new(&BODY_BROKEN, "nothing was run"),
                Unread::NoRoom => {
                    let busy = Problem::new(
                        &TOO_BUSY,
                        "too much of other bodies is in memory; nothing was run",
                    );
                    busy.retry_after(Some(BUSY_RETRY_AFTER))
                }
            })?;
        // It was read: nobody may be asked for it again.
        head.headers.remove(EXPECT);
        let fingerprint = Fingerprint::of(
            &identity,
            &Content {
                operation: &operation,
                path: head.uri.path(),
                query: head.uri.query(),
                content_type: head.headers.get(CONTENT_TYPE).map(|value| value.as_bytes()),
                body: &body,
            },
        );
        let new = NewRequest {
            id: self.new_id(),
            identity,
            operation,
            fingerprint,
            clocks: policy.request.clocks,
            holder: self.0.options.holder.clone(),
        };
        Ok(Asked {
            new,
            policy,
            head,
            body,
        })
    }
}

fn key(head: &Parts) -> Result<RequestKey, Problem> {
    let sent = head.headers.get_all(IDEMPOTENCY_KEY).iter();
    match RequestKey::from_headers(sent.map(|value| value.as_bytes())) {
        Ok(Some(key)) => Ok(key),
        Ok(None) => Err(Problem::new(
            &KEY_MISSING,
            "this operation is carried out once for each Idempotency-Key; send one that is made for this intent, and the \
             same one when it is sent again",
        )),
        Err(refused) => Err(Problem::new(&KEY_INVALID, refused.to_string())),
    }
}
