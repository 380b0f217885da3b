"""Trains a generator against a discriminator on made-up data. Two lines of it are wrong."""

import torch
from torch import nn

LATENT = 8
REAL = 16

generator = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, REAL))
discriminator = nn.Sequential(nn.Linear(REAL, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)

generator_losses = []

for step in range(4):
    real = torch.randn(12, REAL) + 2.0
    fake = generator(torch.randn(12, LATENT))
    ones = torch.ones(12, 1)
    zeros = torch.zeros(12, 1)

    optimizer_d.zero_grad()
    loss_real = criterion(discriminator(real), ones)
    loss_fake = criterion(discriminator(fake), zeros)
    loss_d = loss_real + loss_fake
    loss_d.backward()
    optimizer_d.step()

    optimizer_g.zero_grad()
    loss_g = criterion(discriminator(fake), ones)
    loss_g.backward()
    optimizer_g.step()

    generator_losses.append(loss_g)

print(f"last generator loss {generator_losses[-1]:.3f}")
