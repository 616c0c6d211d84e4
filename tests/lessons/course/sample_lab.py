"""A whole lab in a few cells, for the tests of the builder."""

SAMPLE = '''\
# %% [markdown]
# # Markers and the last stable offset
#
# One page. ![three cells, a flag at the second](images/strip.png)

# %% tags=["nbval-check-output"]
for offset, record in enumerate("a b C".split()):
    print(offset, record)

# %%
from mqlab.lab import check
from mqlab.lessons.kafka.lab07 import LSO

# %% tags=["volatile"]
import time

time.perf_counter()

# %%
object()

# %% tags=["volatile"]
from mqlab.lab import Predict

Predict("07-who-writes")

# %% [markdown]
# ## Write the rule

# %% nbgrader={"solution": true, "grade_id": "lso"}
def lso(first_offsets, high_watermark):
    """Where a reader of committed data must stop."""
    ### BEGIN SOLUTION
    return min([*first_offsets, high_watermark])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "lso-test", "points": 2}
### BEGIN HIDDEN TESTS
from mqlab.lessons.course.points import grade
grade("lso", lso)
### END HIDDEN TESTS
check(LSO, lso)

# %%
print("a reader stops at", lso([1], 2))

# %% [markdown]
# ## What you know now

# %%
print("done")

# %% [markdown] tags=["deeper"]
# ## Deeper: who counts the offsets?

# %%
deep = lso([2], 3)

# %% [markdown] tags=["deeper"]
# ## Deeper: and who reads them?

# %% [markdown]
# ### Nobody here

# %%
print("read up to", deep)
'''
