//! What is sold, and the page of each product. The page never waits for long: what it cannot do without is here.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};
use surefoot_policy::fallback::Source;

use crate::recommendations::Recommendations;
use crate::refused::Refused;

/// Something that is sold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What it costs.
    pub cents: u64,
}

const PRODUCTS: [Product; 3] = [
    Product {
        id: "rope",
        name: "Rope, 60 m",
        cents: 12_900,
    },
    Product {
        id: "chalk",
        name: "Chalk",
        cents: 700,
    },
    Product {
        id: "harness",
        name: "Harness",
        cents: 5_400,
    },
];

/// The product of this name.
#[must_use]
pub fn product(id: &str) -> Option<&'static Product> {
    PRODUCTS.iter().find(|product| product.id == id)
}

/// The page of a product.
///
/// # Errors
/// It is not sold.
pub async fn page(
    State(recommendations): State<Recommendations>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refused> {
    let product = product(&id).ok_or_else(|| Refused::unknown("product"))?;
    let beside = recommendations.beside(product.id).await;
    let from = match beside.source {
        Source::Live => "live",
        Source::Fresh { .. } => "fresh",
        Source::Stale { .. } => "stale",
        Source::Fallback => "best sellers",
    };
    Ok(Json(json!({
        "id": product.id,
        "name": product.name,
        "cents": product.cents,
        "recommended": beside.value,
        "recommended_from": from,
    })))
}
