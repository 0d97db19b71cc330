{#
  Sums of forecasts by cells of width 1/cells: a small table that an audit takes instead of rows.

    calibrant audit cells.csv --count n --positives positives --prediction-sum prediction_sum --by region

  relation    the table or model of forecasts, such as ref('forecasts')
  prediction  column of probabilities in [0, 1]
  outcome     column of outcomes, the numbers 0 and 1
  by          columns of groups, which become columns of the result

  A cell with a missing prediction or outcome has a missing sum, which an audit refuses: no row is
  dropped, and none becomes a 0. Leave rows out in the relation, where everybody can see it.
#}
{% macro calibrant_cells(relation, prediction="prediction", outcome="outcome", by=[], cells=4096) %}
select
{%- for column in by %}
    {{ column }},
{%- endfor %}
    count(*) as n,
    case when count({{ outcome }}) = count(*) then sum({{ outcome }}) end as positives,
    case when count({{ prediction }}) = count(*) then sum({{ prediction }}) end as prediction_sum
from {{ relation }}
group by
{%- for column in by %}
    {{ column }},
{%- endfor %}
    floor({{ prediction }} * {{ cells }})
{% endmacro %}
