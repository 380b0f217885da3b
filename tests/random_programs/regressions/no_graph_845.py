# seed 845
# torch: no graph; RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
# predicted: missed: nothing
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model

    def step(self, x, target=None):
        loss = self.model.weight[0,][1]
        loss.backward(create_graph=True)
        self.model.weight.grad.sum().backward()

    def fit(self, count):
        self.step(3)


model = nn.Linear(4, 4)
Trainer(model).fit(count=2)
