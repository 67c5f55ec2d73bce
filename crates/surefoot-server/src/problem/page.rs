//! The page behind a problem's type URI: what the problem is and what to do, as plain text.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;

use super::document::Problem;
use super::kind::{self, ProblemKind};

/// Explains a kind of problem.
#[utoipa::path(
    get,
    path = "/problems/{slug}",
    operation_id = "explain_problem",
    tag = "server",
    params(("slug" = String, Path, description = "The last part of a problem's type URI")),
    responses((status = 200, description = "What the problem is and what to do", content_type = "text/plain",
        body = String)),
    security(())
)]
pub(crate) async fn explain(slug: Result<Path<String>, PathRejection>) -> Result<String, Problem> {
    let found = slug.ok().and_then(|Path(slug)| ProblemKind::parse(&slug));
    match found {
        Some(kind) => Ok(format!(
            "{} ({})\n\n{}\n",
            kind.title,
            kind.status.as_u16(),
            kind.remedy
        )),
        None => Err(Problem::new(
            &kind::NOT_FOUND,
            "there is no such kind of problem",
        )),
    }
}
