//! Effects: what pull workers do about theirs, and the word of witnesses who were not asked.

use axum::extract::State;
use axum::http::StatusCode;
use surefoot::core::effect::Effect;
use surefoot::core::id::{Epoch, JobId, ProviderKey};
use surefoot::{EffectBegun, EffectTold, Resolved};

use crate::auth::Caller;
use crate::extract::{Body, EffectPath, JobPath, ProviderKeyPath};
use crate::problem::{Problem, ProblemDocument};
use crate::state::App;
use crate::wire::{
    AnswerBody, AskedBody, BeginEffectBody, EffectOrder, EffectRecord, Json, VerdictBody,
    Witnessed, WitnessedOutcome,
};

/// Says what to do about an effect, and writes it down where that is to send it. It may be repeated.
#[utoipa::path(
    post,
    path = "/v1/leases/{job}/effects",
    operation_id = "begin_effect",
    tag = "leases",
    params(("job" = String, Path, description = "The job's id")),
    request_body = BeginEffectBody,
    responses(
        (status = 200, description = "What to do", body = EffectOrder),
        (status = 409, description = "stale-epoch, held-by-a-node, effect-under-way, effect-refused
            or effect-changed",
            body = ProblemDocument, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn begin(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(body): Body<BeginEffectBody>,
) -> Result<Json<EffectOrder>, Problem> {
    let epoch = body.epoch;
    let declared = body.into_declared()?;
    let begun = app
        .client()
        .begin_effect(job, Epoch(epoch), declared)
        .await?;
    let order = match begun {
        EffectBegun::Send { key, leave_within } => EffectOrder::send(&key, leave_within),
        EffectBegun::Return(result) => EffectOrder::result(result),
        EffectBegun::Ask { key } => EffectOrder::ask(&key),
        EffectBegun::UnderWay => return Err(Problem::effect_under_way(job)),
        EffectBegun::AskLater { at, error } => EffectOrder::ask_later(at, &error),
        EffectBegun::Person(error) => EffectOrder::person(&error),
        EffectBegun::Refused(why) => return Err(Problem::effect_refused(job, why.as_str())),
        EffectBegun::Changed(name) => return Err(Problem::effect_changed(job, &name)),
        EffectBegun::Stale => return Err(Problem::stale_epoch(job, epoch)),
        EffectBegun::NotFound => return Err(Problem::no_job(job)),
        EffectBegun::HeldByNode => return Err(Problem::held_by_a_node(job)),
    };
    Ok(Json(StatusCode::OK, order))
}

/// Keeps what the provider answered to a call. It may be repeated; where a witness came first, its word stands.
#[utoipa::path(
    post,
    path = "/v1/leases/{job}/effects/{place}/answer",
    operation_id = "answer_effect",
    tag = "leases",
    params(
        ("job" = String, Path, description = "The job's id"),
        ("place" = u32, Path, description = "The effect's place"),
    ),
    request_body = AnswerBody,
    responses(
        (status = 200, description = "What is on record", body = EffectRecord),
        (status = 409, description = "stale-epoch, held-by-a-node or effect-not-begun", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn answer(
    State(app): State<App>,
    EffectPath { job, place }: EffectPath,
    Body(body): Body<AnswerBody>,
) -> Result<Json<EffectRecord>, Problem> {
    let epoch = body.epoch;
    let answer = body.into_answer()?;
    let told = app
        .client()
        .answer_effect(job, Epoch(epoch), place, answer)
        .await?;
    on_record(told, job, epoch, place)
}

/// Keeps what the provider said when the worker asked it what became of an effect. What follows stands in its state:
/// `confirmed`; `absent`, which may be begun again; `unknown`, to be asked about later; `needs_human`.
#[utoipa::path(
    post,
    path = "/v1/leases/{job}/effects/{place}/verdict",
    operation_id = "verdict_on_effect",
    tag = "leases",
    params(
        ("job" = String, Path, description = "The job's id"),
        ("place" = u32, Path, description = "The effect's place"),
    ),
    request_body = AskedBody,
    responses(
        (status = 200, description = "What is on record", body = EffectRecord),
        (status = 409, description = "stale-epoch, held-by-a-node or effect-not-begun", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn asked(
    State(app): State<App>,
    EffectPath { job, place }: EffectPath,
    Body(body): Body<AskedBody>,
) -> Result<Json<EffectRecord>, Problem> {
    let epoch = body.epoch;
    let (verdict, plan) = body.into_verdict()?;
    let told = app
        .client()
        .verdict_on_effect(job, Epoch(epoch), place, verdict, &plan)
        .await?;
    on_record(told, job, epoch, place)
}

fn on_record(
    told: EffectTold,
    job: JobId,
    epoch: i64,
    place: u32,
) -> Result<Json<EffectRecord>, Problem> {
    match told {
        EffectTold::OnRecord(effect) => Ok(Json(StatusCode::OK, EffectRecord::from(&*effect))),
        EffectTold::NotBegun => Err(Problem::effect_not_begun(job, place)),
        EffectTold::Stale => Err(Problem::stale_epoch(job, epoch)),
        EffectTold::NotFound => Err(Problem::no_job(job)),
        EffectTold::HeldByNode => Err(Problem::held_by_a_node(job)),
    }
}

/// One effect by the key that its provider sees.
#[utoipa::path(
    get,
    path = "/v1/effects/{key}",
    operation_id = "show_effect",
    tag = "effects",
    params(("key" = String, Path, description = "The provider key")),
    responses((status = 200, description = "The effect", body = EffectRecord))
)]
pub(crate) async fn show(
    State(app): State<App>,
    ProviderKeyPath(key): ProviderKeyPath,
) -> Result<Json<EffectRecord>, Problem> {
    let Some((job, generation, place)) = ProviderKey::parse(&key) else {
        return Err(Problem::no_effect(&key));
    };
    let wanted = |effect: &Effect| effect.place == place && effect.generation == generation;
    let effects = app.client().effects(job).await?;
    let found = effects.iter().find(|effect| wanted(effect));
    found
        .map(|effect| Json(StatusCode::OK, EffectRecord::from(effect)))
        .ok_or_else(|| Problem::no_effect(&key))
}

/// Takes in what somebody says became of an effect: a webhook, another program, a person. The first witness settles it and
/// its job goes on; a later, different word is kept as a dispute and raises an alert.
#[utoipa::path(
    post,
    path = "/v1/effects/{key}/verdict",
    operation_id = "resolve_effect",
    tag = "effects",
    params(("key" = String, Path, description = "The provider key")),
    request_body = VerdictBody,
    responses(
        (status = 200, description = "What became of the word", body = Witnessed),
        (status = 409, description = "too-early: a call may still take effect", body = ProblemDocument,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn resolve(
    State(app): State<App>,
    caller: Caller,
    ProviderKeyPath(key): ProviderKeyPath,
    Body(body): Body<VerdictBody>,
) -> Result<Json<Witnessed>, Problem> {
    let (verdict, witness) = body.into_verdict(&caller)?;
    let (job, outcome) = match app.client().resolve(&key, verdict, witness).await? {
        Resolved::Settled { job, .. } => (job, WitnessedOutcome::Settled),
        Resolved::Same { job } => (job, WitnessedOutcome::Same),
        Resolved::Disputed { job } => (job, WitnessedOutcome::Disputed),
        Resolved::TooEarly { until } => {
            return Err(Problem::too_early(&key, until, app.client().now()));
        }
        // The body has no word for it.
        Resolved::NoVerdict => return Err(Problem::field("verdict", "it says nothing")),
        Resolved::NotFound => return Err(Problem::no_effect(&key)),
    };
    Ok(Json(StatusCode::OK, Witnessed::new(&key, job, outcome)))
}
